/* HDFS and YARN in one process, with a node each, for tests/engines/hadoop: writes the settings of clients into a
   directory, prints "ready", and runs until it is killed. */
import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.mapreduce.v2.MiniMRYarnCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

public class MiniCluster {
    static final String OPENS = "-Xmx256m --add-opens java.base/java.lang=ALL-UNNAMED";

    public static void main(String[] args) throws Exception {
        String base = args[0];
        System.setProperty("test.build.data", base + "/data");
        System.setProperty("test.build.dir", base + "/build");
        Configuration c = new YarnConfiguration();
        c.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, base + "/dfs");
        c.setBoolean("dfs.permissions.enabled", false);
        MiniDFSCluster dfs = new MiniDFSCluster.Builder(c).numDataNodes(1).build();
        dfs.waitActive();
        c.set("fs.defaultFS", dfs.getURI().toString());
        c.set("hadoop.tmp.dir", base + "/tmp");
        c.set("yarn.scheduler.capacity.root.queues", "default");
        c.set("yarn.scheduler.capacity.root.default.capacity", "100");
        c.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
        c.set("yarn.scheduler.minimum-allocation-mb", "256");
        c.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
        c.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
        c.setBoolean("yarn.nodemanager.disk-health-checker.enable", false);
        c.setInt("yarn.app.mapreduce.am.resource.mb", 512);
        c.set("yarn.app.mapreduce.am.command-opts", OPENS);
        c.set("mapred.child.java.opts", OPENS);
        c.setInt("mapreduce.map.memory.mb", 256);
        c.setInt("mapreduce.reduce.memory.mb", 256);
        c.setInt("mapreduce.task.io.sort.mb", 32);
        c.setBoolean("yarn.log-aggregation-enable", true); // for yarn logs
        MiniMRYarnCluster yarn = new MiniMRYarnCluster("mini", 1);
        yarn.init(c);
        yarn.start();
        // In each of these files, or the defaults of Hadoop's parts replace some settings.
        for (String part : new String[] {"core", "hdfs", "mapred", "yarn"}) {
            try (OutputStream out = new FileOutputStream(new File(args[1], part + "-site.xml"))) {
                new Configuration(yarn.getConfig()).writeXml(out);
            }
        }
        System.out.println("ready");
        Thread.currentThread().join();
    }
}

/* HDFS in one process, with two data nodes, for tests/remote: MiniHdfs DIRECTORY prints "ready PORT", the port of the
   name node's web server, and runs until its standard input ends. */
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

public class MiniHdfs {
    public static void main(String[] args) throws Exception {
        System.setProperty("test.build.data", args[0] + "/data");
        Configuration c = new Configuration();
        c.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, args[0] + "/dfs");
        c.set("dfs.blocksize", "65536"); // files have many blocks
        c.set("dfs.namenode.fs-limits.min-block-size", "1024");
        MiniDFSCluster dfs = new MiniDFSCluster.Builder(c).numDataNodes(2).build();
        dfs.waitActive();
        System.out.println("ready " + dfs.getNameNode().getHttpAddress().getPort());
        while (System.in.read() >= 0) {}
        System.exit(0);
    }
}

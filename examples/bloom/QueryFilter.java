/* Queries a filter that glint built with Spark's own class. The class is in every Spark, in jars/spark-sketch_*.jar:
 *
 *     glint generate ratings --rows 1000000 ratings.tsv
 *     glint submit count-keys --header ratings.tsv counts
 *     glint submit bloom-build --header --format spark 0.01 ratings.tsv counts filters
 *     glint filter export --format spark --output files filters
 *     java -cp "$SPARK_HOME/jars/*" QueryFilter.java files/7.spark tt0000001 tt0000002
 *
 * In a Spark job, the filter is a broadcast variable, and rows that it rejects are dropped before a join:
 *
 *     Broadcast<BloomFilter> seven = context.broadcast(read("files/7.spark"));
 *     JavaRDD<String> candidates = ids.filter(id -> seven.value().mightContainString(id));
 *
 * Spark 4.1 and newer also read --format spark-v2, which has no limit of 2^31 bits. */
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.apache.spark.util.sketch.BloomFilter;

public class QueryFilter {
    static BloomFilter read(String path) throws IOException {
        try (InputStream in = new FileInputStream(path)) {
            return BloomFilter.readFrom(in);
        }
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length < 1) {
            System.err.println("usage: java QueryFilter.java FILE ID...");
            System.exit(64);
        }
        BloomFilter filter = read(arguments[0]);
        for (int i = 1; i < arguments.length; i++)
            System.out.println(arguments[i] + "\t" + (filter.mightContainString(arguments[i]) ? "maybe" : "no"));
    }
}

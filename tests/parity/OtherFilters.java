/* Reads, builds and queries filters with the classes of Spark, Hadoop, Guava and Parquet, for
 * tests/parity/formats. */
import com.google.common.hash.Funnels;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.util.bloom.Key;
import org.apache.hadoop.util.hash.Hash;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.format.BloomFilterHeader;
import org.apache.parquet.format.Util;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.parquet.io.api.Binary;
import org.apache.spark.util.sketch.BloomFilter;

public class OtherFilters {
    interface Filter {
        void add(byte[] id);

        boolean contains(byte[] id);

        void write(ByteArrayOutputStream out) throws IOException;
    }

    /* The id as a string, or null if it is not UTF-8. */
    static String text(byte[] id) {
        String text = new String(id, StandardCharsets.UTF_8);
        return Arrays.equals(text.getBytes(StandardCharsets.UTF_8), id) ? text : null;
    }

    static boolean same(boolean ofBytes, boolean ofText) {
        if (ofBytes != ofText) throw new IllegalStateException("bytes and text of an id hash differently");
        return ofBytes;
    }

    record Spark(BloomFilter filter) implements Filter {
        public void add(byte[] id) { filter.putBinary(id); }

        public boolean contains(byte[] id) {
            boolean hit = filter.mightContainBinary(id);
            return text(id) == null ? hit : same(hit, filter.mightContainString(text(id)));
        }

        public void write(ByteArrayOutputStream out) throws IOException { filter.writeTo(out); }
    }

    record Hadoop(org.apache.hadoop.util.bloom.BloomFilter filter) implements Filter {
        public void add(byte[] id) { filter.add(new Key(id)); }

        public boolean contains(byte[] id) { return filter.membershipTest(new Key(id)); }

        public void write(ByteArrayOutputStream out) throws IOException { filter.write(new DataOutputStream(out)); }
    }

    record Guava(com.google.common.hash.BloomFilter<byte[]> filter) implements Filter {
        public void add(byte[] id) { filter.put(id); }

        public boolean contains(byte[] id) { return filter.mightContain(id); }

        public void write(ByteArrayOutputStream out) throws IOException { filter.writeTo(out); }
    }

    record Parquet(BlockSplitBloomFilter filter) implements Filter {
        private long hash(byte[] id) { return filter.hash(Binary.fromConstantByteArray(id)); }

        public void add(byte[] id) { filter.insertHash(hash(id)); }

        public boolean contains(byte[] id) { return filter.findHash(hash(id)); }

        public void write(ByteArrayOutputStream out) throws IOException {
            Util.writeBloomFilterHeader(ParquetMetadataConverter.toBloomFilterHeader(filter), out);
            filter.writeTo(out);
        }
    }

    static Filter read(String format, InputStream in) throws IOException {
        switch (format) {
        case "hadoop":
            org.apache.hadoop.util.bloom.BloomFilter filter = new org.apache.hadoop.util.bloom.BloomFilter();
            filter.readFields(new DataInputStream(in));
            return new Hadoop(filter);
        case "guava":
            return new Guava(com.google.common.hash.BloomFilter.readFrom(in, Funnels.byteArrayFunnel()));
        case "parquet":
            BloomFilterHeader header = Util.readBloomFilterHeader(in);
            if (!header.getAlgorithm().isSetBLOCK() || !header.getHash().isSetXXHASH() ||
                !header.getCompression().isSetUNCOMPRESSED())
                throw new IOException("another kind of filter");
            return new Parquet(new BlockSplitBloomFilter(in.readNBytes(header.getNumBytes())));
        default:
            return new Spark(BloomFilter.readFrom(in));
        }
    }

    /* An empty filter for `ids` ids, sized by the class where it has a rule for the rate P, else with M bits and K
     * hashes. */
    static Filter create(String format, long ids, double p, int m, int k) {
        switch (format) {
        case "hadoop":
            return new Hadoop(new org.apache.hadoop.util.bloom.BloomFilter(m, k, Hash.MURMUR_HASH));
        case "guava":
            return new Guava(com.google.common.hash.BloomFilter.create(Funnels.byteArrayFunnel(), ids, p));
        case "parquet":
            return new Parquet(new BlockSplitBloomFilter(m / 8));
        default:
            return new Spark(BloomFilter.create(ids, p));
        }
    }

    /* Lines as bytes: one char each. */
    static List<String> lines(String path) throws IOException {
        return Files.readAllLines(Path.of(path), StandardCharsets.ISO_8859_1);
    }

    static void writeAdmitted(Filter filter, List<String> ids, Path out) throws IOException {
        StringBuilder text = new StringBuilder();
        for (String id : ids)
            if (filter.contains(id.getBytes(StandardCharsets.ISO_8859_1))) text.append(id).append('\n');
        Files.writeString(out, text, StandardCharsets.ISO_8859_1);
    }

    static void write(Filter filter, Path out) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        filter.write(bytes);
        Files.write(out, bytes.toByteArray());
    }

    /* FORMAT sizes (N P)...: prints m and k of the class. */
    static void printSizes(String[] arguments) throws IOException {
        for (int i = 2; i < arguments.length; i += 2) {
            Filter filter =
                create(arguments[0], Long.parseLong(arguments[i]), Double.parseDouble(arguments[i + 1]), 0, 0);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            filter.write(bytes);
            ByteBuffer head = ByteBuffer.wrap(bytes.toByteArray());
            boolean guava = arguments[0].equals("guava"), first = head.getInt(0) == 1;
            long words = head.getInt(guava ? 2 : first ? 8 : 12);
            System.out.println(64 * words + " " + (guava ? head.get(1) & 255 : head.getInt(4)));
        }
    }

    /* FORMAT IDS QUERIES OUT P M K FILE...: writes OUT/made.FORMAT, a filter of IDS by the class; for each FILE, which has
     * a filter, the QUERIES that it admits, and the file as the class writes it. */
    public static void main(String[] arguments) throws IOException {
        String format = arguments[0];
        if (arguments[1].equals("sizes")) {
            printSizes(arguments);
            return;
        }
        List<String> ids = lines(arguments[1]), queries = lines(arguments[2]);
        Path out = Path.of(arguments[3]);
        Filter made = create(format, ids.size(), Double.parseDouble(arguments[4]), Integer.parseInt(arguments[5]),
                             Integer.parseInt(arguments[6]));
        for (String id : ids) made.add(id.getBytes(StandardCharsets.ISO_8859_1));
        write(made, out.resolve("made." + format));
        for (String argument : Arrays.asList(arguments).subList(7, arguments.length)) {
            Path file = Path.of(argument);
            InputStream in = new ByteArrayInputStream(Files.readAllBytes(file));
            Filter filter = read(format, in);
            if (in.read() != -1) throw new IOException(argument + ": bytes are left");
            writeAdmitted(filter, queries, out.resolve(file.getFileName() + ".admitted"));
            write(filter, out.resolve(file.getFileName() + ".again"));
        }
    }
}

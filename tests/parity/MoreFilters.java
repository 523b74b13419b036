/* Reads, builds and queries filters with the classes of DataSketches, ORC and Cassandra, for tests/parity/formats: the
 * arguments of OtherFilters.java. ORC's file is the stream BLOOM_FILTER_UTF8 of one row group. */
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.cassandra.io.util.DataInputBuffer;
import org.apache.cassandra.io.util.WrappedDataOutputStreamPlus;
import org.apache.cassandra.utils.BloomFilterSerializer;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;
import org.apache.cassandra.utils.MurmurHash;
import org.apache.datasketches.filters.bloomfilter.BloomFilter;
import org.apache.datasketches.filters.bloomfilter.BloomFilterBuilder;
import org.apache.datasketches.memory.Memory;
import org.apache.orc.OrcFile;
import org.apache.orc.OrcProto;
import org.apache.orc.TypeDescription;
import org.apache.orc.util.BloomFilterIO;
import org.apache.orc.util.BloomFilterUtf8;

public class MoreFilters {
    interface Filter {
        void add(byte[] id);

        boolean contains(byte[] id);

        byte[] write() throws IOException;

        String size();
    }

    record DataSketches(BloomFilter filter) implements Filter {
        public void add(byte[] id) { filter.update(id); }

        public boolean contains(byte[] id) { return filter.query(id); }

        public byte[] write() { return filter.toByteArray(); }

        public String size() { return filter.getCapacity() + " " + filter.getNumHashes(); }
    }

    record Orc(org.apache.orc.util.BloomFilter filter) implements Filter {
        public void add(byte[] id) { filter.addBytes(id, 0, id.length); }

        public boolean contains(byte[] id) { return filter.testBytes(id, 0, id.length); }

        public byte[] write() {
            OrcProto.BloomFilter.Builder builder = OrcProto.BloomFilter.newBuilder();
            BloomFilterIO.serialize(builder, filter);
            return OrcProto.BloomFilterIndex.newBuilder().addBloomFilter(builder).build().toByteArray();
        }

        public String size() { return filter.getBitSize() + " " + filter.getNumHashFunctions(); }
    }

    /* As DecoratedKey, which every partition key is. */
    record Key(byte[] id) implements IFilter.FilterKey {
        public void filterHash(long[] out) { MurmurHash.hash3_x64_128(ByteBuffer.wrap(id), 0, id.length, 0, out); }
    }

    record Cassandra(org.apache.cassandra.utils.BloomFilter filter) implements Filter {
        public void add(byte[] id) { filter.add(new Key(id)); }

        public boolean contains(byte[] id) { return filter.isPresent(new Key(id)); }

        public byte[] write() throws IOException {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            BloomFilterSerializer.forVersion(false).serialize(filter, new WrappedDataOutputStreamPlus(out));
            return out.toByteArray();
        }

        public String size() { return filter.bitset.capacity() + " " + filter.hashCount; }
    }

    static Filter read(String format, byte[] data) throws IOException {
        switch (format) {
        case "datasketches":
            return new DataSketches(BloomFilter.heapify(Memory.wrap(data)));
        case "orc":
            OrcProto.BloomFilterIndex index = OrcProto.BloomFilterIndex.parseFrom(data);
            return new Orc(BloomFilterIO.deserialize(OrcProto.Stream.Kind.BLOOM_FILTER_UTF8,
                                                     OrcProto.ColumnEncoding.newBuilder().setBloomEncoding(1).build(),
                                                     OrcFile.WriterVersion.ORC_14, TypeDescription.Category.STRING,
                                                     index.getBloomFilter(0)));
        default:
            try (DataInputBuffer in = new DataInputBuffer(data)) {
                return new Cassandra(BloomFilterSerializer.forVersion(false).deserialize(in));
            }
        }
    }

    /* glint's default seed is 0. */
    static Filter create(String format, long ids, double p) {
        switch (format) {
        case "datasketches":
            return new DataSketches(BloomFilterBuilder.createByAccuracy(ids, p, 0));
        case "orc":
            return new Orc(new BloomFilterUtf8(ids, p));
        default:
            return new Cassandra((org.apache.cassandra.utils.BloomFilter) FilterFactory.getFilter(ids, p));
        }
    }

    /* Lines as bytes: one char each. */
    static List<String> lines(String path) throws IOException {
        return Files.readAllLines(Path.of(path), StandardCharsets.ISO_8859_1);
    }

    public static void main(String[] arguments) throws IOException {
        String format = arguments[0];
        if (arguments[1].equals("sizes")) {
            for (int i = 2; i < arguments.length; i += 2)
                System.out.println(
                    create(format, Long.parseLong(arguments[i]), Double.parseDouble(arguments[i + 1])).size());
            return;
        }
        List<String> ids = lines(arguments[1]), queries = lines(arguments[2]);
        Path out = Path.of(arguments[3]);
        Filter made = create(format, ids.size(), Double.parseDouble(arguments[4]));
        for (String id : ids) made.add(id.getBytes(StandardCharsets.ISO_8859_1));
        Files.write(out.resolve("made." + format), made.write());
        for (String argument : Arrays.asList(arguments).subList(7, arguments.length)) {
            Path file = Path.of(argument);
            Filter filter = read(format, Files.readAllBytes(file));
            StringBuilder text = new StringBuilder();
            for (String id : queries)
                if (filter.contains(id.getBytes(StandardCharsets.ISO_8859_1))) text.append(id).append('\n');
            Files.writeString(out.resolve(file.getFileName() + ".admitted"), text, StandardCharsets.ISO_8859_1);
            Files.write(out.resolve(file.getFileName() + ".again"), filter.write());
        }
    }
}

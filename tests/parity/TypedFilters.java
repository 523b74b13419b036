/* Reads, builds and queries filters of numbers with the classes of Spark, Guava, Parquet, DataSketches and ORC, for
 * tests/parity/formats:
 *
 *     FORMAT TYPE IDS QUERIES OUT P FILE...
 *
 * IDS and QUERIES have a value per line. Writes OUT/made.FORMAT, and for each FILE OUT/NAME.admitted. */
import com.google.common.hash.Funnels;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.List;
import org.apache.datasketches.filters.bloomfilter.BloomFilterBuilder;
import org.apache.datasketches.memory.Memory;
import org.apache.orc.OrcFile;
import org.apache.orc.OrcProto;
import org.apache.orc.TypeDescription;
import org.apache.orc.util.BloomFilterIO;
import org.apache.orc.util.BloomFilterUtf8;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.format.BloomFilterHeader;
import org.apache.parquet.format.Util;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.spark.util.sketch.BloomFilter;

public class TypedFilters {
    interface Filter {
        void add(Number id);

        boolean contains(Number id);

        byte[] write() throws IOException;
    }

    static byte[] bytes(Writer writer) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        writer.write(out);
        return out.toByteArray();
    }

    interface Writer {
        void write(ByteArrayOutputStream out) throws IOException;
    }

    record Spark(BloomFilter filter) implements Filter {
        public void add(Number id) { filter.putLong(id.longValue()); }

        public boolean contains(Number id) { return filter.mightContainLong(id.longValue()); }

        public byte[] write() throws IOException { return bytes(filter::writeTo); }
    }

    record GuavaLong(com.google.common.hash.BloomFilter<Long> filter) implements Filter {
        public void add(Number id) { filter.put(id.longValue()); }

        public boolean contains(Number id) { return filter.mightContain(id.longValue()); }

        public byte[] write() throws IOException { return bytes(filter::writeTo); }
    }

    record GuavaInt(com.google.common.hash.BloomFilter<Integer> filter) implements Filter {
        public void add(Number id) { filter.put(id.intValue()); }

        public boolean contains(Number id) { return filter.mightContain(id.intValue()); }

        public byte[] write() throws IOException { return bytes(filter::writeTo); }
    }

    record Parquet(BlockSplitBloomFilter filter) implements Filter {
        long hash(Number id) {
            if (id instanceof Integer) return filter.hash(id.intValue());
            return id instanceof Double ? filter.hash(id.doubleValue()) : filter.hash(id.longValue());
        }

        public void add(Number id) { filter.insertHash(hash(id)); }

        public boolean contains(Number id) { return filter.findHash(hash(id)); }

        public byte[] write() throws IOException {
            return bytes(out -> {
                Util.writeBloomFilterHeader(ParquetMetadataConverter.toBloomFilterHeader(filter), out);
                filter.writeTo(out);
            });
        }
    }

    record DataSketches(org.apache.datasketches.filters.bloomfilter.BloomFilter filter) implements Filter {
        public void add(Number id) {
            if (id instanceof Double)
                filter.update(id.doubleValue());
            else
                filter.update(id.longValue());
        }

        public boolean contains(Number id) {
            return id instanceof Double ? filter.query(id.doubleValue()) : filter.query(id.longValue());
        }

        public byte[] write() { return filter.toByteArray(); }
    }

    record Orc(org.apache.orc.util.BloomFilter filter) implements Filter {
        public void add(Number id) {
            if (id instanceof Double)
                filter.addDouble(id.doubleValue());
            else
                filter.addLong(id.longValue());
        }

        public boolean contains(Number id) {
            return id instanceof Double ? filter.testDouble(id.doubleValue()) : filter.testLong(id.longValue());
        }

        public byte[] write() {
            OrcProto.BloomFilter.Builder builder = OrcProto.BloomFilter.newBuilder();
            BloomFilterIO.serialize(builder, filter);
            return OrcProto.BloomFilterIndex.newBuilder().addBloomFilter(builder).build().toByteArray();
        }
    }

    static Number value(String type, String text) {
        switch (type) {
        case "i32": return Integer.valueOf(text);
        case "f64": return Double.valueOf(text);
        case "date": return (int) LocalDate.parse(text).toEpochDay();
        case "u64": return Long.parseUnsignedLong(text);
        default: return Long.valueOf(text);
        }
    }

    static Filter read(String format, String type, byte[] data) throws IOException {
        ByteArrayInputStream in = new ByteArrayInputStream(data);
        switch (format) {
        case "guava":
            if (type.equals("i32"))
                return new GuavaInt(com.google.common.hash.BloomFilter.readFrom(in, Funnels.integerFunnel()));
            return new GuavaLong(com.google.common.hash.BloomFilter.readFrom(in, Funnels.longFunnel()));
        case "parquet":
            BloomFilterHeader header = Util.readBloomFilterHeader(in);
            return new Parquet(new BlockSplitBloomFilter(in.readNBytes(header.getNumBytes())));
        case "datasketches":
            return new DataSketches(
                org.apache.datasketches.filters.bloomfilter.BloomFilter.heapify(Memory.wrap(data)));
        case "orc":
            return new Orc(BloomFilterIO.deserialize(
                OrcProto.Stream.Kind.BLOOM_FILTER_UTF8, OrcProto.ColumnEncoding.newBuilder().setBloomEncoding(1).build(),
                OrcFile.WriterVersion.ORC_14, TypeDescription.Category.LONG,
                OrcProto.BloomFilterIndex.parseFrom(data).getBloomFilter(0)));
        default:
            return new Spark(BloomFilter.readFrom(in));
        }
    }

    static Filter create(String format, String type, long ids, double p) {
        switch (format) {
        case "guava":
            if (type.equals("i32"))
                return new GuavaInt(com.google.common.hash.BloomFilter.create(Funnels.integerFunnel(), ids, p));
            return new GuavaLong(com.google.common.hash.BloomFilter.create(Funnels.longFunnel(), ids, p));
        case "parquet":
            return new Parquet(new BlockSplitBloomFilter(BlockSplitBloomFilter.optimalNumOfBits(ids, p) / 8));
        case "datasketches":
            return new DataSketches(BloomFilterBuilder.createByAccuracy(ids, p, 0));
        case "orc":
            return new Orc(new BloomFilterUtf8(ids, p));
        default:
            return new Spark(BloomFilter.create(ids, p));
        }
    }

    public static void main(String[] arguments) throws IOException {
        String format = arguments[0], type = arguments[1];
        List<String> ids = Files.readAllLines(Path.of(arguments[2])), queries = Files.readAllLines(Path.of(arguments[3]));
        Path out = Path.of(arguments[4]);
        Filter made = create(format, type, ids.size(), Double.parseDouble(arguments[5]));
        for (String id : ids) made.add(value(type, id));
        Files.write(out.resolve("made." + format), made.write());
        for (String argument : Arrays.asList(arguments).subList(6, arguments.length)) {
            Path file = Path.of(argument);
            Filter filter = read(format, type, Files.readAllBytes(file));
            StringBuilder text = new StringBuilder();
            for (String id : queries)
                if (filter.contains(value(type, id))) text.append(id).append('\n');
            Files.writeString(out.resolve(file.getFileName() + ".admitted"), text);
        }
    }
}

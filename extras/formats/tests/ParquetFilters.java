/* Writes OUT with parquet-java: a column of each type, the values of test_filters.py, and filters of all columns:
 *
 *     OUT fixed|adaptive
 *
 * fixed: for 600 values and a rate of 0.01; adaptive: as large as the number of values asks for. */
import java.math.BigInteger;
import java.nio.file.Path;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

public class ParquetFilters {
    static final int DISTINCT = 500, ROWS = 20_000;
    static final MessageType SCHEMA = MessageTypeParser.parseMessageType(
        "message rows { required int32 small (INTEGER(8,false)); required int32 i32; required int64 i64; "
        + "required int64 u64 (INTEGER(64,false)); required double f64; required binary text (STRING); "
        + "required int32 date (DATE); required int64 ts (TIMESTAMP(MICROS,false)); "
        + "required fixed_len_byte_array(16) uuid (UUID); required int32 dec9 (DECIMAL(9,2)); "
        + "required int64 dec18 (DECIMAL(18,2)); }");

    static Binary uuid(int i) {
        byte[] bytes = new byte[16], number = BigInteger.valueOf(i).shiftLeft(100).add(BigInteger.valueOf(31)).toByteArray();
        for (int at = 0; at < 16 && at < number.length; at++) bytes[15 - at] = number[number.length - 1 - at];
        return Binary.fromConstantByteArray(bytes);
    }

    public static void main(String[] arguments) throws Exception {
        boolean adaptive = arguments[1].equals("adaptive");
        ExampleParquetWriter.Builder builder =
            ExampleParquetWriter.builder(new LocalOutputFile(Path.of(arguments[0])))
                .withConf(new PlainParquetConfiguration())
                .withType(SCHEMA)
                .withRowGroupSize(64L << 10)
                .withDictionaryEncoding(false)
                .withBloomFilterEnabled(true)
                .withAdaptiveBloomFilterEnabled(adaptive);
        for (var field : SCHEMA.getFields())
            if (!adaptive) builder.withBloomFilterNDV(field.getName(), 600).withBloomFilterFPP(field.getName(), 0.01);
        SimpleGroupFactory rows = new SimpleGroupFactory(SCHEMA);
        try (ParquetWriter<Group> writer = builder.build()) {
            for (int row = 0; row < ROWS; row++) {
                int i = row % DISTINCT;
                writer.write(rows.newGroup()
                                 .append("small", i % 200)
                                 .append("i32", i * 77_777 - 9_999)
                                 .append("i64", i * 1_234_567_891L - 300_000_000_000L)
                                 .append("u64", -1 - i * 7L)
                                 .append("f64", (i - 100) / 7.0)
                                 .append("text", "tt" + i + "é")
                                 .append("date", 31 * i - 3653)
                                 .append("ts", i * 3_600_000_000L - 315_619_199_999_999L)
                                 .append("uuid", uuid(i))
                                 .append("dec9", i * 25 - 300)
                                 .append("dec18", i * 1_000_000_000_000L + 5));
            }
        }
    }
}

/* Reads, builds and queries filters with Hadoop's own BloomFilter, for tests/parity/hadoop. */
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.util.bloom.BloomFilter;
import org.apache.hadoop.util.bloom.Key;
import org.apache.hadoop.util.hash.Hash;

public class HadoopFilter {
    /* Lines as bytes: one char each. */
    static List<String> lines(String path) throws IOException {
        return Files.readAllLines(Path.of(path), StandardCharsets.ISO_8859_1);
    }

    static Key key(String line) {
        return new Key(line.getBytes(StandardCharsets.ISO_8859_1));
    }

    static byte[] bytes(BloomFilter filter) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        filter.write(new DataOutputStream(out));
        return out.toByteArray();
    }

    static void writeAdmitted(BloomFilter filter, List<String> ids, Path out) throws IOException {
        StringBuilder text = new StringBuilder();
        for (String id : ids)
            if (filter.membershipTest(key(id))) text.append(id).append('\n');
        Files.writeString(out, text, StandardCharsets.ISO_8859_1);
    }

    /* IDS QUERIES OUT M K FILE...: writes OUT/made.hadoop, a filter of IDS with M bits and K hashes, and the QUERIES that
     * it admits; for each FILE, the QUERIES that it admits, and a copy written by the class. */
    public static void main(String[] arguments) throws IOException {
        List<String> queries = lines(arguments[1]);
        Path out = Path.of(arguments[2]);
        BloomFilter made = new BloomFilter(Integer.parseInt(arguments[3]), Integer.parseInt(arguments[4]),
                                           Hash.MURMUR_HASH);
        for (String id : lines(arguments[0])) made.add(key(id));
        Files.write(out.resolve("made.hadoop"), bytes(made));
        writeAdmitted(made, queries, out.resolve("made.admitted"));
        for (String argument : Arrays.asList(arguments).subList(5, arguments.length)) {
            Path file = Path.of(argument);
            BloomFilter read = new BloomFilter();
            try (DataInputStream in = new DataInputStream(Files.newInputStream(file))) {
                read.readFields(in);
                if (in.read() != -1) throw new IOException(argument + ": bytes are left");
            }
            String name = file.getFileName().toString();
            writeAdmitted(read, queries, out.resolve(name + ".admitted"));
            Files.write(out.resolve(name + ".again"), bytes(read));
        }
    }
}

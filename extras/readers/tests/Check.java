import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

public class Check {
    public static void main(String[] args) throws Exception {
        List<String> ids = Files.readAllLines(Path.of(args[1]));
        Map<Object, GlintFilters.Filter> filters;
        try {
            filters = GlintFilters.read(Files.readAllBytes(Path.of(args[0])));
        } catch (RuntimeException rejected) {
            System.out.println("error");
            return;
        }
        filters.forEach((key, filter) -> {
            StringBuilder hits = new StringBuilder();
            for (String id : ids) hits.append(filter.contains(HexFormat.of().parseHex(id)) ? '1' : '0');
            System.out.println((key == null ? "-" : key) + "\t" + hits + "\t" + filter.idType());
        });
    }
}

/* The builder and the tester of Hadoop of a published project on Bloom filters in MapReduce (docs/papers.md, s0), written
   after its text, for tests/engines/hadoop --bench: the baseline of glint's jobs inside Hadoop.

     S0Programs build P LINES_PER_MAP TRAIN COUNTS OUTPUT
     S0Programs test P LINES_PER_MAP TEST COUNTS FILTERS OUTPUT

   COUNTS are lines of RATING TAB COUNT; FILTERS is the output of build, sequence files. */
import java.io.BufferedReader;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.StringTokenizer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.*;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.*;
import org.apache.hadoop.mapreduce.lib.output.*;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.hadoop.util.hash.Hash;

public class S0Programs extends Configured implements Tool {
    public static class Ints extends ArrayWritable {
        public Ints() { super(IntWritable.class); }
    }

    public static class Booleans extends ArrayWritable {
        public Booleans() { super(BooleanWritable.class); }
    }

    /* A filter, or the indexes of an id. */
    public static class Either extends GenericWritable {
        @SuppressWarnings("unchecked")
        private static final Class<? extends Writable>[] CLASSES = new Class[] {Booleans.class, Ints.class};
        @Override protected Class<? extends Writable>[] getTypes() { return CLASSES; }
        static Either of(Writable value) {
            Either either = new Either();
            either.set(value);
            return either;
        }
    }

    /* A rating; that of its filter comes before those of indexes. */
    public static class Key implements WritableComparable<Key> {
        byte rating;
        boolean filter;
        public Key() {}
        Key(int rating, boolean filter) {
            this.rating = (byte) rating;
            this.filter = filter;
        }
        @Override public void write(DataOutput out) throws IOException {
            out.writeByte(rating);
            out.writeBoolean(filter);
        }
        @Override public void readFields(DataInput in) throws IOException {
            rating = in.readByte();
            filter = in.readBoolean();
        }
        @Override public int compareTo(Key other) {
            int order = Byte.compare(rating, other.rating);
            return order != 0 ? order : Boolean.compare(other.filter, filter);
        }
        @Override public int hashCode() { return rating; }
        @Override public boolean equals(Object other) { return other instanceof Key && compareTo((Key) other) == 0; }
    }

    public static class ByRating extends Partitioner<Key, Either> {
        @Override public int getPartition(Key key, Either value, int count) { return key.rating % count; }
    }

    public static class SameRating extends WritableComparator {
        public SameRating() { super(Key.class, true); }
        @Override public int compare(@SuppressWarnings("rawtypes") WritableComparable a, @SuppressWarnings("rawtypes") WritableComparable b) {
            return Byte.compare(((Key) a).rating, ((Key) b).rating);
        }
    }

    /* What both mappers of lines do: the rating of a line, and the indexes of its id, or null. */
    static class Indexes {
        final Hash hash = Hash.getInstance(Hash.MURMUR_HASH);
        final Configuration settings;
        final int hashes;
        int rating;
        Indexes(Configuration settings) {
            this.settings = settings;
            hashes = settings.getInt("s0.hashes", -1);
        }
        Ints of(Text line) {
            StringTokenizer words = new StringTokenizer(line.toString());
            if (words.countTokens() < 2) return null;
            byte[] id = words.nextToken().getBytes(StandardCharsets.UTF_8);
            rating = (int) Math.round(Double.parseDouble(words.nextToken()));
            int size = settings.getInt("s0.size." + rating, 0);
            if (size == 0) return null;
            IntWritable[] indexes = new IntWritable[hashes];
            for (int i = 0; i < hashes; i++) indexes[i] = new IntWritable(Math.abs(hash.hash(id, i) % size));
            Ints array = new Ints();
            array.set(indexes);
            return array;
        }
    }

    public static class BuildMapper extends Mapper<LongWritable, Text, ByteWritable, Ints> {
        private Indexes indexes;
        @Override public void setup(Context context) { indexes = new Indexes(context.getConfiguration()); }
        @Override public void map(LongWritable offset, Text line, Context context) throws IOException, InterruptedException {
            Ints array = indexes.of(line);
            if (array != null) context.write(new ByteWritable((byte) indexes.rating), array);
        }
    }

    public static class BuildReducer extends Reducer<ByteWritable, Ints, ByteWritable, Booleans> {
        @Override public void reduce(ByteWritable key, Iterable<Ints> values, Context context) throws IOException, InterruptedException {
            BooleanWritable[] bits = new BooleanWritable[context.getConfiguration().getInt("s0.size." + key.get(), 0)];
            for (int i = 0; i < bits.length; i++) bits[i] = new BooleanWritable(false);
            for (Ints array : values)
                for (Writable index : array.get()) bits[((IntWritable) index).get()].set(true);
            Booleans filter = new Booleans();
            filter.set(bits);
            context.write(key, filter);
        }
    }

    public static class TestMapper extends Mapper<LongWritable, Text, Key, Either> {
        private Indexes indexes;
        @Override public void setup(Context context) { indexes = new Indexes(context.getConfiguration()); }
        @Override public void map(LongWritable offset, Text line, Context context) throws IOException, InterruptedException {
            Ints array = indexes.of(line);
            if (array != null) context.write(new Key(indexes.rating, false), Either.of(array));
        }
    }

    public static class FilterMapper extends Mapper<ByteWritable, Booleans, Key, Either> {
        @Override public void map(ByteWritable rating, Booleans filter, Context context) throws IOException, InterruptedException {
            context.write(new Key(rating.get(), true), Either.of(filter));
        }
    }

    public static class TestReducer extends Reducer<Key, Either, ByteWritable, Text> {
        @Override public void reduce(Key key, Iterable<Either> values, Context context) throws IOException, InterruptedException {
            Writable[] bits = null;
            long positives = 0, tests = 0;
            for (Either either : values) {
                if (bits == null) { // it comes first
                    bits = ((Booleans) either.get()).get();
                    continue;
                }
                boolean all = true;
                for (Writable index : ((Ints) either.get()).get()) all &= ((BooleanWritable) bits[((IntWritable) index).get()]).get();
                positives += all ? 1 : 0;
                tests++;
            }
            if (tests > 0)
                context.write(new ByteWritable(key.rating), new Text(positives + "\t" + tests + "\t" + (double) positives / tests));
        }
    }

    private Job job(String p, String lines, String counts) throws IOException {
        double rate = Double.parseDouble(p);
        Configuration c = getConf();
        c.setInt("s0.hashes", (int) Math.ceil(-Math.log(rate) / Math.log(2)));
        Path path = new Path(counts);
        try (BufferedReader in = new BufferedReader(new InputStreamReader(path.getFileSystem(c).open(path), StandardCharsets.UTF_8))) {
            for (String line; (line = in.readLine()) != null;) {
                String[] words = line.split("\t");
                double size = -Long.parseLong(words[1]) * Math.log(rate) / Math.pow(Math.log(2), 2);
                c.setInt("s0.size." + words[0], (int) Math.ceil(size));
            }
        }
        c.set(NLineInputFormat.LINES_PER_MAP, lines);
        Job job = Job.getInstance(c, "s0");
        job.setJarByClass(S0Programs.class);
        job.setNumReduceTasks(4);
        return job;
    }

    @Override public int run(String[] words) throws Exception {
        Job job = job(words[1], words[2], words[4]);
        if (words[0].equals("build")) {
            job.setMapperClass(BuildMapper.class);
            job.setReducerClass(BuildReducer.class);
            job.setMapOutputKeyClass(ByteWritable.class);
            job.setMapOutputValueClass(Ints.class);
            job.setOutputKeyClass(ByteWritable.class);
            job.setOutputValueClass(Booleans.class);
            job.setInputFormatClass(NLineInputFormat.class);
            job.setOutputFormatClass(SequenceFileOutputFormat.class);
            NLineInputFormat.addInputPath(job, new Path(words[3]));
            SequenceFileOutputFormat.setOutputPath(job, new Path(words[5]));
        } else {
            job.setReducerClass(TestReducer.class);
            job.setPartitionerClass(ByRating.class);
            job.setGroupingComparatorClass(SameRating.class);
            job.setMapOutputKeyClass(Key.class);
            job.setMapOutputValueClass(Either.class);
            job.setOutputKeyClass(ByteWritable.class);
            job.setOutputValueClass(Text.class);
            MultipleInputs.addInputPath(job, new Path(words[3]), NLineInputFormat.class, TestMapper.class);
            MultipleInputs.addInputPath(job, new Path(words[5]), SequenceFileInputFormat.class, FilterMapper.class);
            TextOutputFormat.setOutputPath(job, new Path(words[6]));
        }
        return job.waitForCompletion(false) ? 0 : 1;
    }

    public static void main(String[] words) throws Exception { System.exit(ToolRunner.run(new S0Programs(), words)); }
}

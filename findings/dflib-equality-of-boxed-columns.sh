#!/usr/bin/env bash
# Version: Maven org.dflib:dflib 2.0.0-M6, Java 17. Source: run on 2026-12-01; https://dflib.org (expressions on columns; a column of doubles may be primitive or of objects, "same API").
# Guess: NaN is equal to NaN in all columns or in none, and so are 0.0 and -0.0; not(k = 1) and k <> 1 are the same rows.
# Behaviour: in a column of objects NaN = NaN is true and -0.0 = 0.0 false, in a primitive one it is the other way round; groups keep -0.0 apart. k <> 1 leaves null out, not(k = 1) and notIn(1) have it, in(1, null) too; grouping by k loses the
# rows without it. castAsLong of 1e19 is -8446744073709551616 and of the text 9223372036854775808 -2^63; castAsBool of "yes" and "1" is false, of the number 1 true. The sum of Long.MAX_VALUE and 1 is -2^63, their mean right. round() of NaN is 0. The
# median of NaN, 1, 2 is 2.0, their maximum NaN.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
curl -fsS -O https://repo1.maven.org/maven2/org/dflib/dflib/2.0.0-M6/dflib-2.0.0-M6.jar
cat >Finding.java <<'JAVA'
import static org.dflib.Exp.*;

import java.util.List;
import org.dflib.*;

public class Finding {
    static void check(String name, Object got, String want) {
        System.out.println(name + " " + got);
        if (!got.toString().equals(want)) throw new AssertionError("changed: " + want);
    }

    static List<?> column(DataFrame frame, int index) {
        return frame.getColumn(index).toList();
    }

    public static void main(String[] arguments) {
        double nan = Double.NaN;
        DataFrame boxed = DataFrame.foldByRow("k").of(nan, 0.0, -0.0);
        DataFrame primitive = DataFrame.byColumn("k").of(Series.ofDouble(nan, 0.0, -0.0));
        for (DataFrame frame : List.of(boxed, primitive)) {
            DataFrame got = frame.cols("a", "b").select($double("k").eq($double("k")), $double("k").eq(0.0));
            String want = frame == boxed ? "[true, true, true][false, true, false]" : "[false, true, true][false, true, true]";
            check(frame == boxed ? "boxed" : "primitive", column(got, 0) + "" + column(got, 1), want);
        }
        check("groups", column(DataFrame.foldByRow("k", "v").of(nan, 1, nan, 2, 0.0, 3, -0.0, 4).group("k").agg($int("v").sum()), 0), "[3, 3, 4]");
        DataFrame keys = DataFrame.foldByRow("k", "v").of(1, 1, null, 2, 2, 3);
        check("<>", column(keys.rows($int("k").ne(1)).select(), 0), "[2]");
        check("not =", column(keys.rows(not($int("k").eq(1))).select(), 0), "[null, 2]");
        check("notIn", column(keys.rows($int("k").notIn(1)).select(), 0), "[null, 2]");
        check("in", column(keys.rows($int("k").in(1, null)).select(), 0), "[1, null]");
        check("group", column(keys.group("k").agg($int("v").sum()), 0), "[1, 3]");
        DataFrame casts = DataFrame.foldByRow("k").of(1e19, "9223372036854775808").cols("a").select($col("k").castAsLong());
        check("castAsLong", column(casts, 0), "[-8446744073709551616, -9223372036854775808]");
        casts = DataFrame.foldByRow("k").of("true", "yes", "1", 1, 0).cols("a").select($col("k").castAsBool());
        check("castAsBool", column(casts, 0), "[true, false, false, true, false]");
        DataFrame sums = DataFrame.foldByRow("v").of(Long.MAX_VALUE, 1L).cols().agg($long("v").sum(), $long("v").avg());
        check("sum", column(sums, 0) + " " + column(sums, 1), "[-9223372036854775808] [4.6116860184273879E18]");
        check("round", column(DataFrame.foldByRow("a").of(2.5, nan, 1e20).cols("x").select($double("a").round()), 0), "[3, 0, 9223372036854775807]");
        DataFrame middle = DataFrame.foldByRow("v").of(nan, 1.0, 2.0).cols().agg($double("v").median(), $double("v").max());
        check("median", column(middle, 0) + " " + column(middle, 1), "[2.0] [NaN]");
    }
}
JAVA
java -cp dflib-2.0.0-M6.jar Finding.java

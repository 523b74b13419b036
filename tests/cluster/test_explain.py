"""`explain` of jobs that need results: output and exit status, in one process and with a cluster's options, while no
executor runs."""
import os
import re
import unittest

from cluster import JOBS, ClusterTest

END = "the plan ends here: the job needs the result of "
NOT_RUN = "1 action was not run: what the job does with its result may differ from this plan"


class Explain(ClusterTest):
    program = JOBS

    def setUp(self):
        super().setUp()
        self.lines = os.path.join(self.directory, "lines.txt")
        with open(self.lines, "w", encoding="ascii") as file:
            file.write("a b\nb c\n")

    def explain(self, job, *words, code=0):
        """Lines of standard output; the same with the cluster's file, whose executors do not run."""
        got, out, err = self.run_glint("explain", job, *words, self.lines, "out")
        self.assertEqual(got, code, err)
        far = self.run_glint("explain", job, "--cluster", self.config, *words, self.lines, "out")
        self.assertEqual(far, (got, out, err))
        self.assertFalse(os.path.exists(os.path.join(self.directory, "out")))
        return out.splitlines(), err

    def test_sort_sample_is_a_stage(self):
        lines, _ = self.explain("words")
        stages = [line for line in lines if line.startswith("stage ")]
        self.assertEqual([re.sub(",.*", "", stage) for stage in stages],
                         ["stage 0 textFile..reduceByKey: 1 task", "stage 1 reduceByKey..sortByKey.sample: 1 task",
                          "stage 2 reduceByKey..sortByKey: 1 task", "stage 3 sortByKey..saveAsTextFile: 3 tasks"])
        self.assertIn("  sortByKey (write) into 3 partitions; its bounds depend on the result of sortByKey.sample "
                      "(stage 1)", lines)
        self.assertNotIn(NOT_RUN, lines)

    def test_endless_function_is_not_run(self):
        hold = os.path.join(self.directory, "hold")
        open(hold, "w", encoding="ascii").close()
        lines, _ = self.explain("words", "--hold-lines", hold, "--hold-counts", hold)
        self.assertEqual(lines.count("  map words.hold"), 3)  # above the shuffle, the sample and the sort

    def test_job_without_output_is_explained(self):
        code, out, err = self.run_glint("explain", "talk", self.lines)
        self.assertEqual(code, 0, err)
        lines = out.splitlines()
        self.assertIn("stage 1 reduceByKey..count: 1 task", [re.sub(",.*", "", line) for line in lines])
        self.assertIn("collect, not run: returns an empty result", lines)
        self.assertIn("depends on the result of count (stage 1)", lines)

    def test_plan_ends_at_a_required_first_row(self):
        lines, _ = self.explain("first")
        self.assertEqual(lines[0], "take, not run: returns an empty result")
        self.assertEqual(lines[-1], END + "take (stage 0): first of an empty RDD")

    def test_plan_ends_where_the_job_returns_an_invalid_value(self):
        lines, _ = self.explain("some")
        self.assertEqual(lines[-1], END + "count (stage 0): the job some returned 5 without an error")

    def test_plan_ends_after_100_empty_results(self):
        lines, _ = self.explain("forever")
        self.assertEqual(lines.count("count, not run: returns an empty result"), 100)
        self.assertTrue(lines[-1].startswith(END + "count (stage 99): 100 actions returned no result"), lines[-1])

    def test_plan_error_is_reported(self):
        lines, err = self.explain("null", code=70)
        self.assertEqual(lines[0], "count, not run: returns an empty result")
        self.assertTrue(err.startswith("error[E0406]: an RDD is NULL"), err)
        self.assertIn("effect: the job got an empty result of count (stage 0)", err)

    def test_submitted_jobs_run_to_the_end(self):
        for job in ("first", "some", "forever"):
            with self.subTest(job):
                code, _, err = self.run_glint("submit", job, self.lines, os.path.join(self.directory, job))
                self.assertEqual(code, 0, err)
        with open(self.lines, "w", encoding="ascii"):
            pass
        code, _, err = self.run_glint("submit", "some", self.lines, os.path.join(self.directory, "none"))
        self.assertEqual(code, 1, err)


if __name__ == "__main__":
    unittest.main()

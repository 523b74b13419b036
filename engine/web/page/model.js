/* What the page shows, from the answers of /api/v1 (docs/web.md). Attempts are fetched once
 * each: the server appends them in the order of the event log, and the page asks from where it
 * was. */
import { toNumber } from "./format.js";

const TASKS_PER_REQUEST = 20000;
/* Attempts that the timeline keeps. Later ones count in the tables, which the server sums up. */
export const TASKS_KEPT = 200000;

/* A stage is skewed if its largest task has more than SKEW times the median's, and that is not
 * negligible. */
export const SKEW = 3;
const SKEW_TASKS = 4;
const NEGLIGIBLE = { time: 100, rows: 10000, bytes: 1048576 };
export const SKEW_RULE =
    `at least ${SKEW_TASKS} tasks, and the largest is more than ${SKEW} times the median, and ` +
    "at least 100 ms, 10,000 rows or 1 MiB.";

const NOT_ALLOWED = "Not allowed. Open the address that glint printed, with its token.";
const REFUSALS = { 401: NOT_ALLOWED, 403: NOT_ALLOWED, 404: "There is no such job here." };

export class Refused extends Error {
    constructor(status) {
        super(REFUSALS[status] || `The server answered with status ${status}.`);
        this.status = status;
    }
}

/* There is no connection, or it was cut. */
export class Unreachable extends Error {
    constructor(error) {
        super(`The server cannot be reached: ${error.message}`);
    }
}

async function get(path) {
    const options = { credentials: "same-origin", headers: { Accept: "application/json" } };
    const response = await fetch(path, options).catch((error) => {
        throw new Unreachable(error);
    });
    if (!response.ok) throw new Refused(response.status);
    const text = await response.text().catch((error) => {
        throw new Unreachable(error);
    });
    return JSON.parse(text);
}

export function listJobs() {
    return get("api/v1/applications");
}

/* Null: this is not the page of an executor. */
export function getExecutor() {
    return get("api/v1/executor").catch((error) => {
        if (error instanceof Refused && error.status === 404) return null;
        throw error;
    });
}

export function jobPath(id) {
    return `api/v1/applications/${encodeURIComponent(id)}`;
}

const STATES = {
    RUNNING: "running",
    SUCCEEDED: "ok",
    FAILED: "failed",
    CANCELLED: "cancelled",
    UNKNOWN: "unknown",
    ACTIVE: "running",
    COMPLETE: "done",
    PENDING: "waiting",
    SKIPPED: "skipped",
    SUCCESS: "done",
    KILLED: "killed",
    LOST: "executor lost",
};

export function state(status) {
    return STATES[status] || String(status).toLowerCase();
}

function spread(values) {
    if (!Array.isArray(values) || values.length < 3 || values[0] === null) return null;
    return { min: toNumber(values[0]), median: toNumber(values[1]), max: toNumber(values[2]) };
}

/* The median task of `m` against its largest: "max / median", or Infinity for a median of 0. */
function skewOf(m, negligible) {
    if (!m || m.max < negligible || m.max <= SKEW * m.median) return null;
    return m.median > 0 ? m.max / m.median : Infinity;
}

function stageOf(s) {
    const d = s.taskMetricsDistributions || {},
        of = (name) => d[name] || {};
    const stage = {
        stage: s.stageId,
        action: s.jobId,
        name: s.name,
        state: state(s.status),
        parents: s.parentIds || [],
        steps: s.details || [],
        operators: s.numOperators || (s.details || []).length,
        tasks: s.numTasks,
        running: s.numActiveTasks || 0,
        done: s.numCompletedIndices || 0,
        failed: (s.numFailedTasks || 0) + (s.numLostTasks || 0),
        killed: s.numKilledTasks || 0,
        retries: s.numRetries || 0,
        speculative: s.numSpeculativeTasks || 0,
        counters: s.counters || {},
        error: s.error || null,
        start_ms: s.submissionMs,
        end_ms: s.completionMs,
        elapsed_ms: typeof s.completionMs === "number" ? s.completionMs - s.submissionMs : null,
        time: spread(d.executorRunTime),
        rows_in: spread(of("inputMetrics").recordsRead),
        bytes_in: spread(of("inputMetrics").bytesRead),
        rows_out:
            spread(of("outputMetrics").recordsWritten) ||
            spread(of("shuffleWriteMetrics").recordsWritten),
        shuffled: spread(of("shuffleWriteMetrics").bytesWritten),
        spilled: spread(d.diskBytesSpilled),
        fetch_wait: spread(of("shuffleReadMetrics").fetchWaitTime),
    };
    const judged = [
        ["time", "time"],
        ["rows_in", "rows"],
        ["rows_out", "rows"],
        ["bytes_in", "bytes"],
        ["shuffled", "bytes"],
        ["spilled", "bytes"],
    ];
    stage.skew = {};
    if (stage.done >= SKEW_TASKS)
        for (const [name, kind] of judged) {
            const skew = skewOf(stage[name], NEGLIGIBLE[kind]);
            if (skew !== null) stage.skew[name] = skew;
        }
    const words = {
        time: "time",
        rows_in: "rows in",
        rows_out: "rows out",
        bytes_in: "bytes in",
        shuffled: "shuffled bytes",
        spilled: "spilled bytes",
    };
    stage.skewed = Object.keys(stage.skew).map((name) => words[name]);
    return stage;
}

function attemptOf(t, now_ms) {
    return {
        stage: t.stageId,
        task: t.index,
        attempt: t.attempt,
        partition: t.partitionId,
        executor: t.executorId,
        speculative: Boolean(t.speculative),
        start: t.startMs,
        end: typeof t.endMs === "number" ? t.endMs : now_ms,
        run_ms: t.runMs,
        outcome: state(t.status),
        error: t.error || null,
    };
}

export class Job {
    constructor(id) {
        this.id = id;
        this.path = jobPath(id);
        this.attempts = [];
        this.running = [];
        this.ended = 0; /* attempts fetched so far, or left out */
        this.environment = null;
    }

    /* Fetches what changed, and calls `show` when the tables are there, and when the attempts are,
     * which may be many. The numbers of one refresh may be of slightly different moments while the
     * job runs; after its end they are of its last line. */
    async refresh(show) {
        const path = this.path;
        if (!this.environment) this.environment = (await get(`${path}/environment`)).options || [];
        const [job, actions, stages, executors, failures, filters, storage] = await Promise.all([
            get(path),
            get(`${path}/jobs`),
            get(`${path}/stages?withSummaries=true&quantiles=0,0.5,1`),
            get(`${path}/executors`),
            get(`${path}/failures`),
            get(`${path}/filters`),
            get(`${path}/storage/rdd`),
        ]);
        this.job = job;
        this.state = state(job.status);
        this.actions = actions;
        this.stages = stages.map(stageOf);
        for (const stage of this.stages)
            /* a job that fails leaves its stages without an end */
            if (!job.live && stage.state === "running")
                stage.state = stage.failed > 0 && job.error ? "failed" : "stopped";
        this.executors = executors;
        this.failures = failures.map((t) => attemptOf(t, job.lastMs));
        this.filters = filters;
        this.storage = storage;
        this.received = performance.now();
        show();
        this.running = (await this.fetchAttempts()).map((task) => attemptOf(task, job.lastMs));
        show();
    }

    /* Returns the running attempts, as the server sends them. */
    async fetchAttempts() {
        for (;;) {
            const length = Math.min(TASKS_PER_REQUEST, TASKS_KEPT - this.attempts.length);
            const answer = await get(`${this.path}/tasks?offset=${this.ended}&length=${length}`);
            for (const task of answer.tasks) this.attempts.push(attemptOf(task, task.endMs));
            this.ended += answer.tasks.length;
            this.all_attempts = this.ended >= toNumber(answer.total);
            if (
                this.all_attempts ||
                answer.tasks.length === 0 ||
                this.attempts.length >= TASKS_KEPT
            )
                return answer.running || [];
        }
    }

    /* ms since the opening of the event log; while the job runs, by this computer's clock
     * since the last answer. */
    elapsed_ms() {
        if (this.job.live) return this.job.lastMs + (performance.now() - this.received);
        return this.job.attempts && this.job.attempts[0]
            ? this.job.attempts[0].duration
            : this.job.lastMs;
    }
}

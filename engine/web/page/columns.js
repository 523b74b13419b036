/* The columns of the page's tables: what is in a cell, and by what a column is sorted
 * (table.js). */
import { exact, html, isKnown } from "./dom.js";
import { bytes, clip, count, duration, percent } from "./format.js";
import { state } from "./model.js";

function stateCell(text) {
    return html("span", { class: `state-${text.split(" ")[0]}` }, text);
}

/* Smallest, median and largest task, and a mark if the stage is skewed by it. */
function spreadColumn(name, label, hint, format) {
    return {
        name,
        label,
        hint,
        numeric: true,
        optional: true,
        sort: (s) => (s[name] ? s[name].max : null),
        cell: (s) => {
            if (!s[name]) return exact("", null);
            const { min, median, max } = s[name],
                skew = s.skew[name];
            const cell = html(
                "span",
                { class: "spread", "data-metric": name },
                html("b", {}, exact(format(median), median)),
                html(
                    "span",
                    { class: "sub" },
                    min === max ? "all" : [exact(format(min), min), " – ", exact(format(max), max)],
                ),
            );
            if (!skew) return cell;
            const times = skew === Infinity ? "median 0" : `${skew.toFixed(1)}×`;
            return [cell, html("span", { class: "mark", title: "of the median" }, `skew ${times}`)];
        },
    };
}

function operatorList({ steps, operators }) {
    const left_out = operators - steps.length;
    return steps.join("\n") + (left_out > 0 ? `\nand ${count(left_out)} more` : "");
}

function counterList(counters) {
    return html(
        "dl",
        { class: "inline" },
        Object.entries(counters).map(([name, value]) =>
            html(
                "div",
                {},
                html("dt", {}, name),
                " ",
                html("dd", { "data-counter": name }, counterValue(name, value)),
            ),
        ),
    );
}

/* By its name: all counters of bytes have the word, and only one is a time. */
function counterValue(name, value) {
    if (name === "fetch wait us")
        return exact(`${count(value)} (${duration(Number(value) / 1000)})`, value);
    return exact(
        /\bbytes\b/.test(name) && Number(value) >= 1024
            ? `${count(value)} (${bytes(value)})`
            : count(value),
        value,
    );
}

/* One line; the details have the rest. */
function errorCell(error) {
    if (!error) return exact("", null);
    return [
        html("b", {}, `${error.code}: ${error.text || error.name || ""}`),
        error.cause ? html("span", { class: "sub" }, error.cause) : null,
        error.hint ? html("span", { class: "sub" }, `hint: ${error.hint}`) : null,
    ];
}

export const stageColumns = [
    {
        name: "stage",
        label: "Stage",
        numeric: false,
        head: true,
        sort: (s) => s.stage,
        cell: (s) => String(s.stage),
    },
    {
        name: "name",
        label: "Name",
        wide: "name",
        sort: (s) => s.name,
        cell: (s) =>
            html(
                "details",
                {},
                html("summary", {}, clip(s.name, 60)),
                s.steps.length > 0 ? html("pre", {}, operatorList(s)) : null,
                counterList(s.counters),
            ),
    },
    { name: "state", label: "State", sort: (s) => s.state, cell: (s) => stateCell(s.state) },
    {
        name: "tasks",
        label: "Tasks",
        hint: "done / all",
        numeric: true,
        sort: (s) => s.tasks,
        cell: (s) =>
            html(
                "span",
                { "data-done": s.done, "data-tasks": s.tasks },
                `${count(s.done)} / ${count(s.tasks)}`,
                s.running > 0
                    ? html("span", { class: "sub" }, `${count(s.running)} running`)
                    : null,
            ),
    },
    {
        name: "failed",
        label: "Failed",
        hint: "attempts that failed, or whose executor was lost",
        numeric: true,
        sort: (s) => s.failed,
        cell: (s) => html("span", { class: s.failed > 0 ? "state-failed" : "" }, count(s.failed)),
    },
    {
        name: "elapsed",
        label: "Elapsed",
        numeric: true,
        sort: (s) => s.elapsed_ms,
        cell: (s) => exact(duration(s.elapsed_ms), s.elapsed_ms),
    },
    spreadColumn("time", "Time", "how long a task ran: median, smallest – largest", duration),
    spreadColumn("rows_in", "Rows in", "rows read by a task: median, smallest – largest", count),
    spreadColumn("rows_out", "Rows out", "rows written, or records for a shuffle", count),
    spreadColumn("bytes_in", "Bytes in", "bytes read by a task: median, smallest – largest", bytes),
    spreadColumn("shuffled", "Shuffled", "bytes of map outputs", bytes),
    spreadColumn("spilled", "Spilled", "bytes spilled to disk", bytes),
    spreadColumn("fetch_wait", "Fetch wait", "how long a task waited for map outputs", duration),
];

function place(a) {
    return html("a", { href: `#stage-${a.stage}` }, `stage ${a.stage}`);
}

export const failureColumns = [
    {
        name: "task",
        label: "Task",
        head: true,
        sort: (a) => a.stage * 1e9 + a.task,
        cell: (a) => [place(a), ` task ${a.task}`],
    },
    {
        name: "attempt",
        label: "Attempt",
        numeric: true,
        sort: (a) => a.attempt,
        cell: (a) => count(a.attempt),
    },
    {
        name: "executor",
        label: "Executor",
        numeric: true,
        sort: (a) => a.executor,
        cell: (a) => String(a.executor),
    },
    {
        name: "outcome",
        label: "Outcome",
        sort: (a) => a.outcome,
        cell: (a) => html("span", { class: "state-failed" }, a.outcome),
    },
    {
        name: "end",
        label: "At",
        numeric: true,
        sort: (a) => a.end,
        cell: (a) => exact(duration(a.end), a.end),
    },
    {
        name: "ran",
        label: "After",
        hint: "from its start",
        numeric: true,
        sort: (a) => a.end - a.start,
        cell: (a) => duration(a.end - a.start),
    },
    {
        name: "error",
        label: "Error",
        wide: "wide",
        sort: (a) => (a.error ? a.error.code : ""),
        cell: (a) => errorCell(a.error),
    },
];

/* A heartbeat is late after 5 s (docs/cluster.md: suspect). */
function heartbeat(e) {
    return !isKnown(e.heartbeatAgeMs)
        ? exact("", null)
        : exact(`${duration(e.heartbeatAgeMs)} ago`, e.heartbeatAgeMs);
}

export const executorColumns = [
    { name: "id", label: "Executor", head: true, sort: (e) => e.id, cell: (e) => String(e.id) },
    { name: "name", label: "Name", sort: (e) => e.name, cell: (e) => e.name },
    { name: "host", label: "Host", sort: (e) => e.hostPort, cell: (e) => e.hostPort },
    { name: "state", label: "State", sort: (e) => e.state, cell: (e) => stateCell(e.state) },
    {
        name: "slots",
        label: "Slots",
        hint: "busy / all",
        numeric: true,
        sort: (e) => e.totalCores,
        cell: (e) =>
            html(
                "span",
                { "data-slots": e.totalCores },
                (isKnown(e.activeTasks) ? `${count(e.activeTasks)} / ` : "") + count(e.totalCores),
            ),
    },
    {
        name: "memory",
        label: "Memory",
        numeric: true,
        sort: (e) => e.maxMemory,
        cell: (e) =>
            !isKnown(e.memoryUsed)
                ? exact(bytes(e.maxMemory), e.maxMemory)
                : [
                      exact(bytes(e.memoryUsed), e.memoryUsed),
                      " / ",
                      exact(bytes(e.maxMemory), e.maxMemory),
                  ],
    },
    {
        name: "heartbeat",
        label: "Heartbeat",
        numeric: true,
        sort: (e) => e.heartbeatAgeMs,
        cell: heartbeat,
    },
    {
        name: "done",
        label: "Done",
        hint: "attempts that succeeded",
        numeric: true,
        sort: (e) => e.completedTasks,
        cell: (e) => count(e.completedTasks),
    },
    {
        name: "failed",
        label: "Failed",
        hint: "attempts that failed",
        numeric: true,
        sort: (e) => e.failedTasks,
        cell: (e) => count(e.failedTasks),
    },
    {
        name: "error",
        label: "Error",
        wide: "wide",
        cell: (e) => (e.error ? errorCell(e.error) : null),
    },
];

/* The jobs of one executor. */
export const executorJobColumns = [
    { name: "id", label: "Job", head: true, sort: (j) => j.id, cell: (j) => j.id },
    { name: "name", label: "Name", sort: (j) => j.name, cell: (j) => j.name },
    {
        name: "state",
        label: "State",
        sort: (j) => j.status,
        cell: (j) => stateCell(state(j.status)),
    },
    {
        name: "tasks",
        label: "Tasks here",
        numeric: true,
        sort: (j) => j.activeTasks,
        cell: (j) => count(j.activeTasks),
    },
    {
        name: "stage",
        label: "Stage",
        sort: (j) => j.stageId,
        cell: (j) => (j.stageName === null ? "–" : `${count(j.stageId)} ${j.stageName}`),
    },
    {
        name: "progress",
        label: "Stage tasks",
        hint: "done / all",
        numeric: true,
        sort: (j) => j.numCompletedTasks,
        cell: (j) => `${count(j.numCompletedTasks)} / ${count(j.numTasks)}`,
    },
    {
        name: "retries",
        label: "Retries",
        numeric: true,
        sort: (j) => j.numRetries,
        cell: (j) => count(j.numRetries),
    },
    {
        name: "memory",
        label: "Memory",
        numeric: true,
        sort: (j) => j.memoryUsed,
        cell: (j) => exact(bytes(j.memoryUsed), j.memoryUsed),
    },
    {
        name: "age",
        label: "For",
        numeric: true,
        sort: (j) => j.age,
        cell: (j) => exact(duration(j.age), j.age),
    },
    {
        name: "heartbeat",
        label: "Heartbeat",
        hint: "time since the last heartbeat of its driver",
        numeric: true,
        sort: (j) => j.heartbeatAgeMs,
        cell: (j) => exact(duration(j.heartbeatAgeMs), j.heartbeatAgeMs),
    },
];

export const actionColumns = [
    {
        name: "action",
        label: "Action",
        head: true,
        sort: (a) => a.jobId,
        cell: (a) => String(a.jobId),
    },
    { name: "name", label: "Name", sort: (a) => a.name, cell: (a) => a.name },
    {
        name: "state",
        label: "State",
        sort: (a) => a.status,
        cell: (a) => stateCell(state(a.status).replace("ok", "done")),
    },
    {
        name: "stages",
        label: "Stages",
        cell: (a) =>
            [
                (a.stageIds || [])
                    .map((n, i) => [i > 0 ? ", " : "", html("a", { href: `#stage-${n}` }, n)])
                    .flat(),
                (a.skippedStageIds || []).length > 0
                    ? html("span", { class: "sub" }, `skipped: ${a.skippedStageIds.join(", ")}`)
                    : null,
            ].flat(),
    },
    {
        name: "elapsed",
        label: "Elapsed",
        numeric: true,
        sort: (a) => elapsed(a),
        cell: (a) => exact(duration(elapsed(a)), elapsed(a)),
    },
    {
        name: "outputs",
        label: "Outputs",
        wide: "wide",
        cell: (a) => (a.outputs || []).map((o) => html("span", { class: "line" }, o)),
    },
];

function elapsed(a) {
    return typeof a.completionMs === "number" ? a.completionMs - a.submissionMs : null;
}

export const filterColumns = [
    {
        name: "key",
        label: "Key",
        head: true,
        sort: (f) => (/^-?\d+$/.test(f.key) ? Number(f.key) : f.key),
        cell: (f) => f.key,
    },
    {
        name: "n",
        label: "n",
        hint: "ids",
        numeric: true,
        sort: (f) => f.n,
        cell: (f) => count(f.n),
    },
    {
        name: "m",
        label: "m",
        hint: "bits",
        numeric: true,
        sort: (f) => f.m,
        cell: (f) => count(f.m),
    },
    {
        name: "k",
        label: "k",
        hint: "bits per id",
        numeric: true,
        sort: (f) => f.k,
        cell: (f) => count(f.k),
    },
    {
        name: "scheme",
        label: "Scheme",
        sort: (f) => f.scheme,
        cell: (f) => `${f.scheme}, ${f.layout}`,
    },
    {
        name: "bits",
        label: "Bits set",
        numeric: true,
        sort: (f) => f.bitsSet,
        cell: (f) => count(f.bitsSet),
    },
    {
        name: "fill",
        label: "Fill",
        numeric: true,
        sort: (f) => f.fill,
        cell: (f) => [
            html("meter", { min: 0, max: 1, value: f.fill, "aria-hidden": "true" }),
            " ",
            exact(percent(f.fill, 2), f.fill),
        ],
    },
    {
        name: "rate",
        label: "Expected rate",
        hint: "of false positives",
        numeric: true,
        sort: (f) => f.expectedRate,
        cell: (f) => exact(f.expectedRate.toPrecision(4), f.expectedRate),
    },
];

export const counterColumns = [
    { name: "name", label: "Counter", head: true, sort: (c) => c.name, cell: (c) => c.name },
    {
        name: "value",
        label: "Value",
        numeric: true,
        sort: (c) => Number(c.value),
        cell: (c) => html("span", { "data-counter": c.name }, counterValue(c.name, c.value)),
    },
];

export const accumulatorColumns = [
    { name: "name", label: "Accumulator", head: true, sort: (a) => a.name, cell: (a) => a.name },
    {
        name: "value",
        label: "Value",
        wide: "wide",
        cell: (a) => html("span", { "data-accumulator": a.name }, String(a.value)),
    },
];

export const storageColumns = [
    { name: "id", label: "RDD", head: true, sort: (r) => r.id, cell: (r) => String(r.id) },
    { name: "name", label: "Name", sort: (r) => r.name, cell: (r) => clip(r.name || "", 60) },
    { name: "level", label: "Level", sort: (r) => r.storageLevel, cell: (r) => r.storageLevel },
    {
        name: "blocks",
        label: "Blocks",
        hint: "cached partitions / all",
        numeric: true,
        sort: (r) => r.numCachedPartitions,
        cell: (r) => `${count(r.numCachedPartitions)} / ${count(r.numPartitions)}`,
    },
    {
        name: "memory",
        label: "In memory",
        numeric: true,
        sort: (r) => Number(r.memoryUsed),
        cell: (r) => exact(bytes(r.memoryUsed), r.memoryUsed),
    },
    {
        name: "disk",
        label: "On disk",
        numeric: true,
        sort: (r) => Number(r.diskUsed),
        cell: (r) => exact(bytes(r.diskUsed), r.diskUsed),
    },
];

export const optionColumns = [
    {
        name: "name",
        label: "Option",
        head: true,
        sort: (o) => o.name,
        cell: (o) => html("code", {}, o.name),
    },
    {
        name: "value",
        label: "Value",
        wide: "wide",
        cell: (o) =>
            o.value === null
                ? html("span", { class: "none" }, "not set")
                : html("code", {}, o.value),
    },
    {
        name: "origin",
        label: "Origin",
        sort: (o) => o.origin || "",
        cell: (o) => o.origin || exact("", null),
    },
];

export const jobColumns = [
    {
        name: "name",
        label: "Job",
        head: true,
        sort: (j) => j.name,
        cell: (j) => html("a", { href: `?job=${encodeURIComponent(j.id)}` }, j.name),
    },
    { name: "id", label: "Id", cell: (j) => html("code", {}, j.id) },
    {
        name: "state",
        label: "State",
        sort: (j) => j.status,
        cell: (j) => stateCell(state(j.status)),
    },
    {
        name: "start",
        label: "Started",
        sort: (j) => start(j),
        cell: (j) => (start(j) || "").replace("T", " "),
    },
    {
        name: "elapsed",
        label: "Elapsed",
        numeric: true,
        sort: (j) => ran(j),
        cell: (j) => exact(duration(ran(j)), ran(j)),
    },
    {
        name: "tasks",
        label: "Tasks",
        hint: "done / all",
        numeric: true,
        sort: (j) => j.numTasks,
        cell: (j) => `${count(j.numCompletedTasks)} / ${count(j.numTasks)}`,
    },
    {
        name: "failed",
        label: "Failed",
        hint: "failed and lost attempts",
        numeric: true,
        sort: (j) => j.numFailedTasks + j.numLostTasks,
        cell: (j) => count(j.numFailedTasks + j.numLostTasks),
    },
    {
        name: "file",
        label: "File",
        wide: "wide",
        sort: (j) => j.file || "",
        cell: (j) => j.file || "",
    },
];

function start(j) {
    return j.attempts && j.attempts[0] ? j.attempts[0].startTime : null;
}

function ran(j) {
    return j.attempts && j.attempts[0] ? j.attempts[0].duration : null;
}

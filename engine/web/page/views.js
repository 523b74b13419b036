/* The parts of the page that are tables and lists, and what is in them. */
import * as columns from "./columns.js";
import { byId, html, setText } from "./dom.js";
import { bytes, count, duration, plural } from "./format.js";
import { Table } from "./table.js";

function errorList(error) {
    const rows = [
        ["Error", `${error.code} ${error.name || ""}: ${error.text || ""}`],
        ["Cause", error.cause],
        ["Effect", error.effect],
        ["Hint", error.hint],
        ["Exit status", error.exit_status === undefined ? null : error.exit_status],
    ];
    return html(
        "dl",
        {},
        rows
            .filter(([, text]) => text !== null && text !== undefined && text !== "")
            .map(([name, text]) => [html("dt", {}, name), html("dd", {}, text)]),
    );
}

function table(id, caption, of, key, empty, more) {
    return new Table(byId(id), { caption, columns: of, key, empty, sign: JSON.stringify, ...more });
}

export function makeJobTable() {
    return table("jobs", "Jobs", columns.jobColumns, (j) => j.id, "No job has an event log here.", {
        sorted: { name: "start", down: true },
    });
}

/* Numbers with a label, and a remark below. */
class Tiles {
    constructor(place) {
        this.place = place;
        this.tiles = new Map();
    }

    set(id, label, text, value, under, bad) {
        if (!this.tiles.has(id)) {
            const made = { value: html("dd", {}), under: html("dd", { class: "under" }) };
            this.place.append(
                html(
                    "div",
                    { class: "tile", id: `tile-${id}` },
                    html("dt", {}, label),
                    made.value,
                    made.under,
                ),
            );
            this.tiles.set(id, made);
        }
        const tile = this.tiles.get(id);
        setText(tile.value, text);
        tile.value.setAttribute("data-value", String(value));
        tile.value.className = bad ? "bad" : "";
        setText(tile.under, under);
    }
}

/* The page of an executor (glint executor --ui). */
export class ExecutorView {
    constructor() {
        this.tiles = new Tiles(byId("executor-tiles"));
        this.jobs = table(
            "executor-jobs",
            "Jobs",
            columns.executorJobColumns,
            (j) => j.id,
            "No job is here now.",
        );
        byId("executor").hidden = false;
    }

    update(e) {
        const used = e.totalCores > 0 ? e.activeTasks / e.totalCores : 0;
        byId("state").hidden = false;
        setText(byId("state"), e.state);
        setText(byId("name"), `Executor ${e.id}`);
        setText(byId("elapsed"), `${e.hostPort}, for ${duration(e.uptime)}`);
        document.title = `${e.id} – glint`;
        byId("progress").value = used;
        byId("progress").setAttribute("aria-label", "Slots in use");
        this.tiles.set("slots", "Slots", count(e.totalCores), e.totalCores, "tasks at a time");
        this.tiles.set("tasks", "Tasks running", count(e.activeTasks), e.activeTasks, "");
        this.tiles.set(
            "memory",
            "Memory",
            bytes(e.memoryUsed),
            e.memoryUsed,
            `${bytes(e.maxMemory)} for tasks`,
        );
        this.tiles.set(
            "jobs",
            "Jobs",
            count(e.jobs.length),
            e.jobs.length,
            `${count(e.maxJobs)} run at a time`,
        );
        this.jobs.update(e.jobs);
        setText(byId("version"), `glint ${e.build}; cluster ${e.cluster}`);
    }
}

export class Views {
    constructor() {
        this.stages = table(
            "stages",
            "Stages",
            columns.stageColumns,
            (s) => s.stage,
            "No stage has started yet.",
            { row_id: (s) => `stage-${s.stage}` },
        );
        this.failures = table(
            "failures",
            "Failed attempts",
            columns.failureColumns,
            (a) => `${a.stage}.${a.task}.${a.attempt}`,
            "No attempt has failed.",
        );
        this.executors = table(
            "executors",
            "Executors",
            columns.executorColumns,
            (e) => e.id,
            "No executor has joined yet.",
        );
        this.actions = table(
            "actions",
            "Actions",
            columns.actionColumns,
            (a) => a.jobId,
            "No action has started yet.",
        );
        this.filters = table("filters", "Filters", columns.filterColumns, (f) => f.key, "");
        this.accumulators = table(
            "accumulators",
            "Accumulators",
            columns.accumulatorColumns,
            (a) => a.name,
            "",
        );
        this.storage = table("storage", "Cached RDDs", columns.storageColumns, (r) => r.id, "");
        this.counters = table(
            "counters",
            "Counters",
            columns.counterColumns,
            (c) => c.name,
            "No task has counted anything yet.",
        );
        this.options = table(
            "configuration",
            "Configuration",
            columns.optionColumns,
            (o) => o.name,
            "The event log has no options.",
        );
        this.tiles = new Tiles(byId("tiles"));
    }

    update(model) {
        const { job } = model;
        byId("error").hidden = !job.error;
        if (job.error) byId("error").replaceChildren(byId("error-title"), errorList(job.error));
        this.updateTiles(model);
        this.stages.update(model.stages);
        this.failures.update(model.failures);
        this.executors.update(model.executors);
        this.actions.update(model.actions);
        this.filters.update(model.filters);
        byId("filters").hidden = model.filters.length === 0;
        this.counters.update(
            Object.entries(job.counters || {}).map(([name, value]) => ({ name, value })),
        );
        const accumulators = Object.entries(job.accumulators || {});
        this.accumulators.update(accumulators.map(([name, value]) => ({ name, value })));
        byId("accumulators").hidden = accumulators.length === 0;
        this.storage.update(model.storage);
        byId("storage").hidden = model.storage.length === 0;
        this.options.update(model.environment);
        const notes = (job.notes || []).concat((job.outputs || []).map((o) => `published: ${o}`));
        byId("notes").hidden = notes.length === 0;
        byId("note-list").replaceChildren(...notes.map((note) => html("li", {}, note)));
        setText(
            byId("arguments"),
            (job.arguments || []).join(" ") +
                (job.argumentCount > (job.arguments || []).length ? " …" : ""),
        );
        setText(
            byId("version"),
            `glint ${job.version || ""}, build ${job.build || ""}; job ${job.id}`,
        );
    }

    updateTiles(model) {
        const { job } = model,
            c = job.counters || {};
        const lost = job.numLostExecutors || 0,
            joined = model.executors.filter((e) => e.state !== "lost").length;
        const failed = (job.numFailedTasks || 0) + (job.numLostTasks || 0);
        this.tiles.set(
            "tasks",
            "Tasks done",
            count(job.numCompletedTasks),
            job.numCompletedTasks,
            `of ${count(job.numTasks)}`,
        );
        this.tiles.set(
            "running",
            "Running",
            count(job.numActiveTasks || 0),
            job.numActiveTasks || 0,
            `${count(job.numPendingTasks || 0)} wait`,
        );
        this.tiles.set(
            "stages",
            "Stages",
            count(job.numStages),
            job.numStages,
            job.numSkippedStages > 0 ? `${count(job.numSkippedStages)} skipped` : "",
        );
        this.tiles.set(
            "failed",
            "Failed",
            count(failed),
            failed,
            plural(job.numRetries || 0, "retry", "retries"),
            failed > 0,
        );
        this.tiles.set(
            "executors",
            "Executors",
            count(joined),
            joined,
            lost > 0 ? `${count(lost)} lost` : "none lost",
            lost > 0,
        );
        for (const [id, label, rows, size] of [
            ["read", "Read", "rows read", "bytes read"],
            ["written", "Written", "rows written", "bytes written"],
            ["shuffled", "Shuffled", "map output records", "map output bytes"],
        ])
            this.tiles.set(id, label, bytes(c[size] || 0), c[size] || 0, plural(c[rows] || 0, "row"));
        this.tiles.set("spilled", "Spilled", bytes(c["spill bytes"] || 0), c["spill bytes"] || 0, "");
    }
}

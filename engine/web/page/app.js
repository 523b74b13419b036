/* The page of a job: asks the server what it shows, again whenever the server says that
 * something changed (server-sent events), and until the job has ended. */
import { byId, html, setText } from "./dom.js";
import { Dag } from "./dag.js";
import { count, duration } from "./format.js";
import { getExecutor, Job, listJobs, Refused, SKEW_RULE, Unreachable } from "./model.js";
import { Timeline } from "./timeline.js";
import { ExecutorView, makeJobTable, Views } from "./views.js";

const EXECUTOR_MS = 1000; /* between two questions to an executor */
const RETRY_MS = [1000, 2000, 5000, 10000];
const STATES = {
    running: "running",
    ok: "succeeded",
    failed: "failed",
    cancelled: "cancelled",
    unknown: "incomplete",
};

let model = null,
    views = null,
    dag = null,
    timeline = null,
    jobs = null;
let source = null,
    tries = 0,
    retry = 0,
    refreshing = null,
    again = false;

function live(text, off) {
    setText(byId("live"), text);
    byId("live").classList.toggle("off", Boolean(off));
}

function problem(text) {
    byId("problem").hidden = text === "";
    setText(byId("problem"), text);
}

function showHead() {
    const { job } = model,
        whole = Number(job.numTasks) || 0;
    setText(byId("name"), job.name);
    setText(byId("state"), STATES[model.state] || model.state);
    byId("state").className = `badge ${model.state}`;
    byId("state").hidden = false;
    document.title = `${job.name} – ${STATES[model.state] ? model.state : ""} – glint`;
    byId("progress").max = Math.max(whole, 1);
    byId("progress").value = Number(job.numCompletedTasks) || 0;
    showElapsed();
}

function showElapsed() {
    if (model && model.job)
        setText(byId("elapsed"), `${duration(model.elapsed_ms())} on ${model.job.master || "?"}`);
}

function show() {
    byId("job").hidden = false;
    showHead();
    views.update(model);
    dag.update(model.stages, model.actions);
    timeline.update(
        model.attempts.concat(model.running),
        model.executors.map((e) => ({ executor: e.id, name: e.name })),
        model.job.lastMs,
        model.all_attempts,
    );
    const remarks = [];
    if (model.state === "unknown")
        remarks.push("The event log has no end: the job still runs, or its driver was killed.");
    if (model.job.truncatedLine)
        remarks.push("The last line of the event log is incomplete and was left out.");
    if (model.job.sizeLimited)
        remarks.push(
            "The event log reached its size limit: " +
                `${count(model.job.eventsLeftOut || 0)} events are not in it.`,
        );
    problem(remarks.join(" "));
}

async function refreshUntilDone() {
    try {
        do {
            again = false;
            await model.refresh(show);
            if (performance.getEntriesByName("shown").length === 0)
                requestAnimationFrame(() => performance.mark("shown"));
        } while (again);
    } catch (error) {
        if (error instanceof Refused) problem(error.message);
        else if (!(error instanceof Unreachable)) throw error; /* the events show that */
    } finally {
        refreshing = null;
    }
}

/* One refresh at a time; changes that arrive meanwhile cause one more, and wait for it, too. */
function refresh() {
    again = refreshing !== null;
    if (!again) refreshing = refreshUntilDone();
    return refreshing;
}

function disconnected() {
    live("Disconnected: the numbers are old. Trying again …", true);
    if (!source || source.readyState !== EventSource.CLOSED) return; /* it tries again itself */
    source = null;
    clearTimeout(retry);
    retry = setTimeout(connect, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]);
}

/* The job is over, but its last numbers are not known. */
function ended() {
    model.job.live = false;
    live("The job has ended, and its server with it: the last numbers are missing", true);
}

function connect() {
    if (source || document.hidden) return;
    source = new EventSource(`${model.path}/events`);
    source.addEventListener("open", () => {
        tries = 0;
        live("● live");
    });
    source.addEventListener("error", disconnected);
    source.addEventListener("change", refresh);
    source.addEventListener("end", async () => {
        disconnect();
        await refresh();
        /* glint submit may have exited before it answered. */
        if (model.job.live) ended();
        else live("");
    });
}

function disconnect() {
    if (source) source.close();
    source = null;
    clearTimeout(retry);
}

/* A hidden page needs no connection; browsers have few per server. */
function onVisibility() {
    if (!model || !model.job || !model.job.live) return;
    if (document.hidden) disconnect();
    else connect();
}

function makeNav() {
    const links = [...document.querySelectorAll("#job section")].filter(
        (section) => section.id !== "error",
    );
    byId("nav").replaceChildren(
        ...links.map((section) =>
            html(
                "a",
                { href: `#${section.id}`, id: `to-${section.id}` },
                section.querySelector("h2").textContent,
            ),
        ),
    );
    const follow = () =>
        links.forEach((section) => {
            byId(`to-${section.id}`).hidden = section.hidden;
        });
    for (const section of links)
        new MutationObserver(follow).observe(section, { attributeFilter: ["hidden"] });
    follow();
}

async function openJob(id) {
    model = new Job(id);
    views = new Views();
    dag = new Dag(byId("dag"));
    timeline = new Timeline(byId("timeline"));
    makeNav();
    setText(byId("skew-rule"), SKEW_RULE);
    new ResizeObserver(() => model.stages && dag.update(model.stages, model.actions)).observe(
        byId("dag"),
    );
    await refresh();
    if (!model.job) setText(byId("name"), "No data");
    if (!model.job || !model.job.live) return;
    connect();
    setInterval(showElapsed, 1000);
    document.addEventListener("visibilitychange", onVisibility);
}

/* An executor has no events: the page asks again, unless it is hidden. */
function openExecutor(first) {
    const view = new ExecutorView();
    const ask = async () => {
        if (document.hidden) return;
        try {
            view.update(await getExecutor());
            live("● live");
        } catch (error) {
            if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
            live("Disconnected: the numbers are old. Trying again …", true);
        }
    };
    view.update(first);
    live("● live");
    setInterval(ask, EXECUTOR_MS);
    document.addEventListener("visibilitychange", ask);
}

async function main() {
    const wanted = new URLSearchParams(location.search).get("job");
    const list = await listJobs();
    if (wanted !== null || list.length === 1) return openJob(wanted !== null ? wanted : list[0].id);
    const executor = list.length === 0 ? await getExecutor() : null;
    if (executor !== null) return openExecutor(executor);
    jobs = makeJobTable();
    byId("jobs").hidden = false;
    setText(byId("name"), "Jobs");
    jobs.update(list);
    return undefined;
}

main().catch((error) => {
    setText(byId("name"), "No data");
    problem(error.message);
    if (!(error instanceof Refused || error instanceof Unreachable)) console.error(error);
});

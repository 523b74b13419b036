/* Draws the stages of each action and which of them read the outputs of others, as SVG. Within
 * an action a stage is right of all its parents, on a narrow screen below them; actions follow
 * each other in rows. */
import { html, svg } from "./dom.js";
import { clip, count, duration, percent, plural } from "./format.js";

const WIDTH = 236,
    HEIGHT = 84 /* without operators */,
    LINE = 15,
    ALONG = 44,
    ACROSS = 16,
    PAD = 12,
    TITLE = 24,
    GAP = 14;
const OPERATORS_MAX = 5; /* lines of them in a box */
const STAGES_MAX = 300; /* a larger drawing is not readable; the table has all */

/* The operators that a box has room for; all of them are in its title, and in the table. */
export function shownOperators(stage) {
    const { steps, operators } = stage;
    if (steps.length === 0 || operators <= OPERATORS_MAX) return steps;
    const last = operators === steps.length ? steps.slice(-1) : []; /* else it is not known */
    const first = steps.slice(0, OPERATORS_MAX - 1 - last.length);
    return [...first, `… ${count(operators - first.length - last.length)} more`, ...last];
}

/* Gives each stage of an action its layer, and its place in it: next to its parents' where
 * that is free. */
export function layOut(stages) {
    const boxes = new Map(),
        free = [];
    for (const stage of stages) {
        const parents = stage.parents.map((p) => boxes.get(p)).filter(Boolean);
        const layer = parents.reduce((most, p) => Math.max(most, p.layer + 1), 0);
        const wanted =
            parents.length > 0 ? parents.reduce((sum, p) => sum + p.at, 0) / parents.length : 0;
        const at = Math.max(free[layer] || 0, wanted);
        free[layer] = at + 1;
        boxes.set(stage.stage, { stage, parents, layer, at });
    }
    return [...boxes.values()];
}

/* Pixels from the corner of the action's frame. Not `down`: layers go to the right. */
function setPlaces(boxes, down) {
    const lines = Math.max(...boxes.map((box) => shownOperators(box.stage).length)),
        height = HEIGHT + LINE * lines;
    const along = down ? height + ALONG - 8 : WIDTH + ALONG,
        across = down ? WIDTH + ACROSS : height + ACROSS;
    for (const box of boxes) {
        const a = box.layer * along,
            b = box.at * across;
        Object.assign(box, { height, x: PAD + (down ? b : a), y: TITLE + (down ? a : b) });
    }
    return {
        width: Math.max(...boxes.map((b) => b.x)) + WIDTH + PAD,
        height: Math.max(...boxes.map((b) => b.y)) + height + PAD,
    };
}

function edge(a, b, down) {
    const x = down ? a.x + WIDTH / 2 : a.x + WIDTH,
        y = down ? a.y + a.height : a.y + a.height / 2;
    const u = down ? b.x + WIDTH / 2 : b.x - 2,
        v = down ? b.y - 2 : b.y + b.height / 2;
    const bend = down
        ? `${x} ${(y + v) / 2} ${u} ${(y + v) / 2}`
        : `${(x + u) / 2} ${y} ${(x + u) / 2} ${v}`;
    return svg("path", {
        class: "edge",
        d: `M${x} ${y}C${bend} ${u} ${v}`,
        "marker-end": "url(#arrow)",
    });
}

/* What a screen reader says, and the title shows. */
export function describe(stage) {
    const parts = [
        `Stage ${stage.stage}, ${stage.name}: ${stage.state}`,
        `${count(stage.done)} of ${plural(stage.tasks, "task")}`,
    ];
    if (stage.failed > 0) parts.push(`${count(stage.failed)} failed`);
    if (stage.skewed.length > 0) parts.push(`skewed: ${stage.skewed.join(", ")}`);
    if (stage.parents.length > 0) parts.push(`reads stage ${stage.parents.join(", ")}`);
    return parts.join("; ");
}

function remark(stage, part) {
    if (stage.failed > 0) return { text: `${count(stage.failed)} failed`, kind: " bad" };
    if (stage.skewed.length > 0) return { text: "skewed", kind: " bad" };
    if (stage.state === "running") return { text: percent(part, 0), kind: "" };
    return { text: stage.elapsed_ms === null ? "" : duration(stage.elapsed_ms), kind: "" };
}

function node(box) {
    const { stage, x, y, height, parents } = box,
        inner = WIDTH - 24;
    const part = stage.tasks > 0 ? Math.min(1, stage.done / stage.tasks) : 0,
        { text, kind } = remark(stage, part);
    const others = stage.parents.filter(
        (p) => !parents.some((box) => box.stage.stage === p),
    ); /* of earlier actions */
    return svg(
        "a",
        {
            href: `#stage-${stage.stage}`,
            class: `node ${stage.state}`,
            "aria-label": describe(stage),
            transform: `translate(${x} ${y})`,
            "data-stage": stage.stage,
        },
        svg(
            "title",
            {},
            describe(stage),
            stage.steps.map((step) => `\n${step}`),
        ),
        svg("rect", { class: "box", width: WIDTH, height, rx: 6 }),
        svg(
            "text",
            { class: "name", x: 12, y: 21 },
            `Stage ${stage.stage}`,
            others.length > 0 ? clip(` ← ${others.join(", ")}`, 14) : "",
        ),
        svg("text", { class: "state", x: WIDTH - 12, y: 21, "text-anchor": "end" }, stage.state),
        svg("text", { class: "what", x: 12, y: 40 }, clip(stage.name, 32)),
        shownOperators(stage).map((text, i) =>
            svg("text", { class: "operator", x: 12, y: 57 + LINE * i }, clip(text, 36)),
        ),
        svg("rect", { class: "bar", x: 12, y: height - 34, width: inner, height: 6, rx: 3 }),
        svg("rect", {
            class: "part",
            x: 12,
            y: height - 34,
            width: Math.round(inner * part),
            height: 6,
            rx: 3,
        }),
        svg(
            "text",
            { class: "tasks", x: 12, y: height - 11 },
            `${count(stage.done)} / ${plural(stage.tasks, "task")}`,
        ),
        svg(
            "text",
            { class: `remark${kind}`, x: WIDTH - 12, y: height - 11, "text-anchor": "end" },
            text,
        ),
    );
}

/* The frames of actions, from left to right, then in the next row. */
function arrange(frames, room) {
    let x = 0,
        y = 0,
        high = 0,
        wide = 0;
    for (const frame of frames) {
        if (x > 0 && x + frame.width > room) {
            y += high + GAP;
            x = high = 0;
        }
        Object.assign(frame, { x, y });
        x += frame.width + GAP;
        high = Math.max(high, frame.height);
        wide = Math.max(wide, x - GAP);
    }
    return { width: wide, height: y + high };
}

export class Dag {
    constructor(container) {
        this.container = container;
        this.sign = null;
    }

    /* actions: {jobId, name}. Draws only if something that it shows has changed. */
    update(stages, actions) {
        const room = this.container.clientWidth;
        const sign = JSON.stringify([
            room,
            stages.map((s) => [s.stage, s.state, s.done, s.failed, s.tasks, s.skewed]),
        ]);
        if (sign === this.sign || room === 0) return;
        this.sign = sign;
        const focused = document.activeElement && document.activeElement.dataset.stage;
        this.container.replaceChildren(
            stages.length > 0
                ? this.draw(stages.slice(0, STAGES_MAX), actions, room)
                : html("p", { class: "empty" }, "No stage has started yet."),
        );
        if (stages.length > STAGES_MAX)
            this.container.append(
                html(
                    "p",
                    { class: "remark" },
                    `The first ${STAGES_MAX} of ${count(stages.length)} stages are drawn; ` +
                        "the table has all.",
                ),
            );
        if (focused === undefined || focused === null) return;
        const again = [...this.container.querySelectorAll(".node")].find(
            (n) => n.dataset.stage === focused,
        );
        if (again) again.focus({ preventScroll: true });
    }

    draw(stages, actions, room) {
        const names = new Map(actions.map((a) => [a.jobId, a.name])),
            byAction = new Map();
        for (const stage of stages) {
            if (!byAction.has(stage.action)) byAction.set(stage.action, []);
            byAction.get(stage.action).push(stage);
        }
        const frames = [...byAction].map(([action, own]) => {
            const boxes = layOut(own),
                across = setPlaces(boxes, false),
                down = across.width > room;
            return { action, boxes, down, ...(down ? setPlaces(boxes, true) : across) };
        });
        const { width, height } = arrange(frames, room);
        return svg(
            "svg",
            {
                width: width + 2,
                height: height + 2,
                viewBox: `-1 -1 ${width + 2} ${height + 2}`,
                role: "group",
                "aria-label": `${plural(stages.length, "stage")} and which outputs they read`,
            },
            svg(
                "defs",
                {},
                svg(
                    "marker",
                    {
                        id: "arrow",
                        viewBox: "0 0 8 8",
                        refX: 7,
                        refY: 4,
                        markerWidth: 7,
                        markerHeight: 7,
                        orient: "auto",
                    },
                    svg("path", { class: "head", d: "M0 0L8 4L0 8z" }),
                ),
            ),
            frames.map((frame) =>
                svg(
                    "g",
                    { transform: `translate(${frame.x} ${frame.y})` },
                    svg("rect", {
                        class: "frame",
                        width: frame.width,
                        height: frame.height,
                        rx: 8,
                    }),
                    svg(
                        "text",
                        { class: "action", x: PAD, y: 16 },
                        clip(`action ${frame.action}: ${names.get(frame.action) || ""}`, 36),
                    ),
                    frame.boxes.map((box) =>
                        box.parents.map((parent) => edge(parent, box, frame.down)),
                    ),
                    frame.boxes.map(node),
                ),
            ),
        );
    }
}

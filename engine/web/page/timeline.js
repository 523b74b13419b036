/* Draws the attempts of tasks over time, a lane per slot of each executor, on a canvas: its
 * cost depends on its pixels, not on the number of attempts. Arrow keys move from attempt to
 * attempt, for those without a mouse; the line below says what the selected one is. */
import { html, setText } from "./dom.js";
import { clip, clock, count, duration, plural } from "./format.js";

const AXIS = 22,
    GAP = 6,
    LANES_MAX = 600;
const STEPS = [1, 2, 5];

function laneHeight(lanes) {
    return lanes <= 16 ? 18 : lanes <= 64 ? 11 : 5;
}

/* Puts attempts that overlap into different lanes of their executor. Attempts are sorted by
 * start. */
export function assignLanes(attempts) {
    const executors = new Map();
    for (const attempt of attempts) {
        let lanes = executors.get(attempt.executor);
        if (!lanes) executors.set(attempt.executor, (lanes = []));
        let lane = lanes.find((l) => l.end <= attempt.start + 0.0005);
        if (!lane) lanes.push((lane = { attempts: [], end: 0 }));
        lane.attempts.push(attempt);
        lane.end = attempt.end;
    }
    return executors;
}

function step(span, ticks) {
    const rough = span / ticks,
        power = 10 ** Math.floor(Math.log10(rough));
    return power * (STEPS.find((s) => s * power >= rough) || 10);
}

export class Timeline {
    constructor(container) {
        this.canvas = html("canvas", {
            tabindex: 0,
            role: "img",
            "aria-label": "Timeline of tasks",
            "aria-describedby": "timeline-readout timeline-keys",
        });
        this.readout = html("p", { id: "timeline-readout", class: "readout", role: "status" });
        const button = (label, name, act) =>
            html(
                "button",
                { type: "button", "aria-label": name, title: name, onclick: act },
                label,
            );
        this.scroll = html("div", { class: "lanes" }, this.canvas);
        container.append(
            html(
                "div",
                { class: "tools" },
                button("−", "Zoom out", () => this.zoom(2)),
                button("+", "Zoom in", () => this.zoom(0.5)),
                button("◀", "Earlier", () => this.pan(-0.4)),
                button("▶", "Later", () => this.pan(0.4)),
                button("All", "Show the whole job", () => this.all()),
            ),
            this.scroll,
            this.readout,
            html(
                "p",
                { id: "timeline-keys", class: "remark" },
                "With the keyboard: arrow keys select an attempt, + and − zoom, 0 shows all.",
            ),
        );
        this.lanes = [];
        this.selected = null;
        this.view = null; /* {from, to} in ms; null: the whole job */
        this.wanted = false;
        this.canvas.addEventListener("pointermove", (e) => this.point(e));
        this.canvas.addEventListener("keydown", (e) => this.onKey(e));
        new ResizeObserver(() => this.wantDraw()).observe(this.scroll);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
            this.wantDraw(),
        );
    }

    /* attempts: {stage, task, attempt, executor, start, end, outcome}; `end` of a running one
     * is now. */
    update(attempts, executors, end_ms, drawn_all) {
        const sorted = attempts.slice().sort((a, b) => a.start - b.start);
        const byExecutor = assignLanes(sorted);
        const names = new Map(executors.map((e) => [e.executor, e.name]));
        this.lanes = [];
        for (const [executor, lanes] of [...byExecutor].sort((a, b) => a[0] - b[0]))
            lanes.forEach((lane, i) =>
                this.lanes.push({
                    ...lane,
                    executor,
                    first: i === 0,
                    name: names.get(executor) || `executor ${executor}`,
                }),
            );
        this.all_lanes = this.lanes.length;
        this.lanes = this.lanes.slice(0, LANES_MAX);
        this.begin = sorted.length > 0 ? Math.min(0, sorted[0].start) : 0;
        this.end = Math.max(end_ms, this.begin + 0.001);
        this.names = names;
        const kept = this.selected;
        this.selected =
            kept &&
            (attempts.find(
                (a) => a.stage === kept.stage && a.task === kept.task && a.attempt === kept.attempt,
            ) ||
                null);
        this.summary =
            `${plural(attempts.length, "attempt")} of tasks ` +
            `on ${plural(byExecutor.size, "executor")}, ` +
            `${duration(this.end - this.begin)}` +
            (drawn_all ? "" : "; later ones are not drawn") +
            (this.all_lanes > LANES_MAX
                ? `; the first ${LANES_MAX} of ${count(this.all_lanes)} lanes are drawn`
                : "");
        this.canvas.setAttribute("aria-label", `Timeline: ${this.summary}`);
        this.say();
        this.wantDraw();
    }

    range() {
        return this.view || { from: this.begin, to: this.end };
    }

    all() {
        this.view = null;
        this.wantDraw();
    }

    zoom(factor) {
        const { from, to } = this.range();
        const middle = this.selected
            ? (this.selected.start + this.selected.end) / 2
            : (from + to) / 2;
        const half = ((to - from) * factor) / 2;
        this.look(middle - half, middle + half);
    }

    pan(part) {
        const { from, to } = this.range(),
            by = (to - from) * part;
        this.look(from + by, to + by);
    }

    look(from, to) {
        const span = to - from,
            all = this.end - this.begin;
        if (span >= all) return this.all();
        if (span < all * 1e-6 || span < 0.0005) return undefined;
        const start = Math.min(Math.max(from, this.begin), this.end - span);
        this.view = { from: start, to: start + span };
        this.wantDraw();
        return undefined;
    }

    wantDraw() {
        if (this.wanted) return;
        this.wanted = true;
        requestAnimationFrame(() => {
            this.wanted = false;
            this.draw();
        });
    }

    gutter() {
        return this.scroll.clientWidth < 560 ? 64 : 116;
    }

    draw() {
        if (!this.names || this.scroll.clientWidth === 0) return;
        const tops = [],
            high = laneHeight(this.lanes.length);
        let y = AXIS;
        for (const [i, lane] of this.lanes.entries()) {
            if (i > 0 && lane.first) y += GAP;
            tops.push(y);
            y += high;
        }
        this.tops = tops;
        const width = this.scroll.clientWidth,
            height = y + 4,
            ratio = Math.min(2, devicePixelRatio || 1);
        if (
            this.canvas.width !== Math.round(width * ratio) ||
            this.canvas.height !== Math.round(height * ratio)
        ) {
            this.canvas.width = Math.round(width * ratio);
            this.canvas.height = Math.round(height * ratio);
            this.canvas.style.width = `${width}px`;
            this.canvas.style.height = `${height}px`;
        }
        const style = getComputedStyle(this.canvas),
            color = (name) => style.getPropertyValue(name).trim();
        const g = this.canvas.getContext("2d");
        g.setTransform(ratio, 0, 0, ratio, 0, 0);
        g.clearRect(0, 0, width, height);
        g.font = `11px ${style.fontFamily}`;
        g.textBaseline = "middle";
        const colors = {
            done: [color("--done"), color("--done-2")],
            running: color("--running"),
            failed: color("--bad"),
            killed: color("--idle"),
            "executor lost": color("--bad"),
            text: color("--text"),
            soft: color("--soft"),
            line: color("--line"),
            on: [color("--on-done"), color("--on-done-2")],
            on_bad: color("--on-bad"),
        };
        this.drawAxis(g, colors, width, height);
        this.lanes.forEach((lane, i) => this.drawLane(g, colors, lane, tops[i], high, width));
    }

    drawAxis(g, colors, width, height) {
        const { from, to } = this.range(),
            left = this.gutter(),
            every = step(to - from, Math.max(2, (width - left) / 110));
        g.fillStyle = colors.soft;
        g.strokeStyle = colors.line;
        g.textAlign = "left";
        for (let t = Math.ceil(from / every) * every; t <= to; t += every) {
            const x = Math.round(left + ((t - from) / (to - from)) * (width - left)) + 0.5;
            g.beginPath();
            g.moveTo(x, AXIS - 6);
            g.lineTo(x, height);
            g.stroke();
            if (x < width - 44) g.fillText(clock(t, every), x + 3, 9);
        }
    }

    drawLane(g, colors, lane, y, high, width) {
        const { from, to } = this.range(),
            left = this.gutter(),
            scale = (width - left) / (to - from);
        if (lane.first) {
            g.fillStyle = colors.text;
            g.textAlign = "left";
            g.fillText(clip(lane.name, left < 100 ? 9 : 17), 0, y + Math.max(high, 11) / 2);
        }
        g.textAlign = "center";
        let reached = -1; /* the last pixel drawn: many short attempts share one */
        for (const a of lane.attempts) {
            if (a.end < from) continue;
            if (a.start > to) break;
            const x = Math.max(left, left + (a.start - from) * scale),
                end = Math.min(width, left + (a.end - from) * scale);
            const wide = Math.max(end - x, 1),
                good = a.outcome === "done";
            if (good && a !== this.selected && x + wide <= reached) continue;
            g.fillStyle = good ? colors.done[a.stage % 2] : colors[a.outcome] || colors.killed;
            g.fillRect(x, y + 1, wide > 4 ? wide - 1 : wide, high - 2);
            if (good) reached = Math.max(reached, Math.floor(x + wide));
            this.label(g, colors, a, x, y, wide, high);
            if (a === this.selected) {
                g.strokeStyle = colors.text;
                g.lineWidth = 2;
                g.strokeRect(x, y + 1, Math.max(wide - 1, 3), high - 2);
                g.lineWidth = 1;
            }
        }
    }

    label(g, colors, a, x, y, wide, high) {
        if (high < 11) return;
        const bad = a.outcome === "failed" || a.outcome === "executor lost";
        const text = `${bad ? "✕ " : ""}${a.stage}.${a.task}`;
        g.fillStyle =
            a.outcome === "done"
                ? colors.on[a.stage % 2]
                : a.outcome === "killed"
                  ? colors.text
                  : colors.on_bad;
        if (wide >= text.length * 6.5 + 6) g.fillText(text, x + wide / 2, y + high / 2 + 0.5);
        else if (bad && wide >= 9) g.fillText("✕", x + wide / 2, y + high / 2 + 0.5);
    }

    point(event) {
        if (!this.tops || this.lanes.length === 0) return;
        const box = this.canvas.getBoundingClientRect(),
            high = laneHeight(this.lanes.length);
        const y = event.clientY - box.top,
            at = this.tops.findIndex((t) => y >= t && y < t + high);
        const { from, to } = this.range(),
            left = this.gutter();
        const slack = ((to - from) / (box.width - left)) * 2;
        const t = from + ((event.clientX - box.left - left) / (box.width - left)) * (to - from);
        const found =
            at < 0
                ? null
                : this.lanes[at].attempts.find((a) => t >= a.start - slack && t <= a.end + slack);
        if (found && found !== this.selected) this.select(found);
    }

    select(attempt) {
        this.selected = attempt;
        this.say();
        this.wantDraw();
    }

    say() {
        const a = this.selected;
        setText(
            this.readout,
            !a
                ? this.summary
                : `Task ${a.task} of stage ${a.stage}, attempt ${a.attempt}` +
                      `${a.speculative ? " (speculative)" : ""}: ` +
                      `${a.outcome}, ${duration(a.end - a.start)} from ${duration(a.start)}, ` +
                      `on ${this.names.get(a.executor) || "executor " + a.executor}`,
        );
    }

    onKey(event) {
        if (event.ctrlKey || event.altKey || event.metaKey || this.lanes.length === 0) return;
        const keys = {
            ArrowRight: () => this.move(0, 1),
            ArrowLeft: () => this.move(0, -1),
            ArrowDown: () => this.move(1, 0),
            ArrowUp: () => this.move(-1, 0),
            "+": () => this.zoom(0.5),
            "-": () => this.zoom(2),
            0: () => this.all(),
        };
        if (!keys[event.key]) return;
        event.preventDefault();
        keys[event.key]();
    }

    move(down, right) {
        let at = this.lanes.findIndex((lane) => lane.attempts.includes(this.selected));
        if (at < 0) return this.select(this.lanes[0].attempts[0]);
        const from = this.lanes[at].attempts.indexOf(this.selected);
        at = Math.min(Math.max(at + down, 0), this.lanes.length - 1);
        const { attempts } = this.lanes[at];
        const next =
            down === 0 ? from + right : attempts.findIndex((a) => a.end >= this.selected.start);
        const found =
            attempts[
                Math.min(Math.max(next < 0 ? attempts.length - 1 : next, 0), attempts.length - 1)
            ];
        this.select(found);
        const { from: begin, to } = this.range();
        if (found.start < begin || found.end > to)
            this.look(found.start - (to - begin) / 2, found.start + (to - begin) / 2);
        return undefined;
    }
}

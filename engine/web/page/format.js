/* Numbers as text. An integer above 2^53 arrives as a text of digits (docs/event-log.md). */

export function toNumber(value) {
    return typeof value === "string" ? Number(value) : value;
}

export function count(value) {
    if (value === null || value === undefined) return "–";
    return (
        typeof value === "string" && /^-?\d+$/.test(value) ? BigInt(value) : value
    ).toLocaleString("en-GB");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function bytes(value) {
    if (value === null || value === undefined) return "–";
    let n = toNumber(value),
        unit = 0;
    while (n >= 1024 && unit < UNITS.length - 1) {
        n /= 1024;
        unit++;
    }
    return unit === 0 ? `${n} B` : `${n.toFixed(n < 100 ? 1 : 0)} ${UNITS[unit]}`;
}

function two(n) {
    return String(n).padStart(2, "0");
}

export function duration(ms) {
    if (ms === null || ms === undefined) return "–";
    if (ms < 10) return `${ms.toFixed(ms < 0.1 && ms > 0 ? 3 : 2)} ms`;
    if (ms < 1000) return `${Math.round(ms)} ms`;
    if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
    const s = Math.round(ms / 1000),
        h = Math.floor(s / 3600),
        m = Math.floor((s % 3600) / 60);
    if (h === 0) return `${m} min ${two(s % 60)} s`;
    return h < 24 ? `${h} h ${two(m)} min` : `${Math.floor(h / 24)} d ${two(h % 24)} h`;
}

/* A time in the job, for axes: as few digits as `step_ms` needs. */
export function clock(ms, step_ms) {
    if (step_ms >= 60000)
        return `${Math.floor(ms / 60000)}:${two(Math.round((ms % 60000) / 1000))}`;
    if (step_ms >= 1000) return `${Math.round(ms / 1000)} s`;
    if (step_ms >= 1)
        return ms >= 1000
            ? `${(ms / 1000).toFixed(step_ms >= 100 ? 1 : step_ms >= 10 ? 2 : 3)} s`
            : `${Math.round(ms)} ms`;
    return `${ms.toFixed(step_ms >= 0.1 ? 1 : step_ms >= 0.01 ? 2 : 3)} ms`;
}

export function plural(n, one, many) {
    return `${count(n)} ${n === 1 ? one : many || one + "s"}`;
}

export function percent(fraction, digits) {
    return `${(100 * fraction).toFixed(digits === undefined ? 1 : digits)} %`;
}

export function clip(text, length) {
    return text.length > length ? text.slice(0, length - 1) + "…" : text;
}

/* A table that keeps its rows: an update changes only the cells whose row changed, so that
 * focus, selections and opened details stay while a job runs. Columns are sorted by the
 * buttons of their heads. */
import { html, setText } from "./dom.js";
import { count } from "./format.js";

/* Rows in the document at first: a job may have 65,536 stages. */
const ROWS_SHOWN = 200;

export class Table {
    /* columns: {name, label, hint, numeric, optional, cell(row), sort(row)}; without `sort` there
     * is no button; `optional`: not shown while it is null in all rows. key(row): identifies a row; sign(row): a text that changes when the row does. */
    constructor(place, { caption, columns, key, sign, row_id, empty, sorted }) {
        Object.assign(this, { columns, key, sign, row_id, empty });
        this.shown = columns;
        this.rows = [];
        this.kept = new Map();
        this.limit = ROWS_SHOWN;
        this.by = sorted || null; /* {name, down} */
        this.heads = columns.map((column) => this.makeHead(column));
        this.head = html("tr", {}, this.heads);
        this.body = html("tbody");
        this.none = html("p", { class: "empty", hidden: true }, empty);
        this.more = html("button", {
            type: "button",
            class: "more",
            hidden: true,
            onclick: () => {
                this.limit *= 10;
                this.show();
            },
        });
        this.scroll = html(
            "div",
            { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
            html(
                "table",
                {},
                html("caption", { class: "unseen" }, caption),
                html("thead", {}, this.head),
                this.body,
            ),
        );
        place.append(this.scroll, this.none, this.more);
        this.mark();
    }

    makeHead(column) {
        const attributes = {
            scope: "col",
            class: column.numeric ? "number" : null,
            title: column.hint,
        };
        if (!column.sort) return html("th", attributes, column.label);
        const arrow = html("span", { class: "arrow", "aria-hidden": "true" });
        const button = html(
            "button",
            { type: "button", onclick: () => this.sortBy(column) },
            column.label,
            arrow,
        );
        return html("th", attributes, button);
    }

    sortBy(column) {
        const same = this.by && this.by.name === column.name;
        this.by = { name: column.name, down: same ? !this.by.down : Boolean(column.numeric) };
        this.mark();
        this.show();
    }

    mark() {
        this.columns.forEach((column, i) => {
            if (!column.sort) return;
            const on = this.by && this.by.name === column.name;
            this.heads[i].setAttribute(
                "aria-sort",
                !on ? "none" : this.by.down ? "descending" : "ascending",
            );
            setText(this.heads[i].querySelector(".arrow"), !on ? "" : this.by.down ? " ▼" : " ▲");
        });
    }

    update(rows) {
        this.rows = rows;
        this.show();
    }

    /* Other columns than before: all cells are made again. */
    chooseColumns() {
        const shown = this.columns.filter(
            (column) => !column.optional || this.rows.some((row) => column.sort(row) !== null),
        );
        if (shown.length === this.shown.length && shown.every((c, i) => c === this.shown[i])) return;
        this.shown = shown;
        this.head.replaceChildren(...shown.map((c) => this.heads[this.columns.indexOf(c)]));
        for (const kept of this.kept.values()) kept.sign = null;
    }

    ordered() {
        const column = this.by && this.columns.find((c) => c.name === this.by.name);
        if (!column) return this.rows;
        const sign = this.by.down ? -1 : 1;
        const values = new Map(this.rows.map((row) => [row, column.sort(row)]));
        return this.rows.slice().sort((a, b) => {
            const x = values.get(a),
                y = values.get(b);
            if (x === y) return 0;
            if (x === null || x === undefined) return 1; /* always last */
            if (y === null || y === undefined) return -1;
            return x < y ? -sign : sign;
        });
    }

    show() {
        this.chooseColumns();
        const rows = this.ordered(),
            shown = rows.slice(0, this.limit),
            used = new Set();
        shown.forEach((row, at) => {
            const key = String(this.key(row)),
                sign = this.sign(row);
            used.add(key);
            let kept = this.kept.get(key);
            if (!kept) {
                kept = {
                    element: html("tr", { id: this.row_id ? this.row_id(row) : null }),
                    sign: null,
                };
                this.kept.set(key, kept);
            }
            if (kept.sign !== sign) {
                const open = kept.element.querySelector("details[open]") !== null;
                const focused = kept.element.contains(document.activeElement);
                kept.element.replaceChildren(
                    ...this.shown.map((column) => this.makeCell(column, row)),
                );
                kept.sign = sign;
                const details = kept.element.querySelector("details");
                if (details) details.open = open;
                if (details && focused) details.querySelector("summary").focus();
            }
            if (this.body.children[at] !== kept.element)
                this.body.insertBefore(kept.element, this.body.children[at] || null);
        });
        for (const [key, kept] of this.kept) {
            if (used.has(key)) continue;
            kept.element.remove();
            this.kept.delete(key);
        }
        this.scroll.hidden = rows.length === 0;
        this.none.hidden = rows.length > 0;
        this.more.hidden = rows.length <= this.limit;
        setText(
            this.more,
            `Show more: ${count(shown.length)} of ${count(rows.length)} rows are shown`,
        );
    }

    makeCell(column, row) {
        const content = column.cell(row);
        const tag = column.head ? "th" : "td";
        return html(
            tag,
            {
                class: column.numeric ? "number" : column.wide || null,
                scope: column.head ? "row" : null,
            },
            content,
        );
    }
}

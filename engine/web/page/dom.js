/* Builds elements. Strings become text nodes or attributes, never markup, so names and errors
 * of users cannot add elements, and the page works under a Content-Security-Policy without
 * 'unsafe-inline'. */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (value === true) element.setAttribute(name, "");
        else if (value !== false && value !== null && value !== undefined)
            element.setAttribute(name, String(value));
    }
    for (const child of children.flat(Infinity)) {
        if (child === null || child === undefined || child === false) continue;
        element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return element;
}

export function html(tag, attributes, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function byId(id) {
    return document.getElementById(id);
}

/* Writes only if it differs: a screen reader announces each change of a live region. */
export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

/* False for what an answer does not have, or does not know. */
export function isKnown(value) {
    return value !== null && value !== undefined;
}

/* A number as people read it; the exact value is its title, and data-value for programs. */
export function exact(text, value) {
    if (!isKnown(value)) return html("span", { class: "none" }, "–");
    return html("span", { title: String(value), "data-value": String(value) }, text);
}

// Creates elements. Children that are not nodes become text nodes, so no text of a study is read as markup.

const PROPERTIES = new Set(['value', 'checked', 'disabled', 'selected', 'open', 'hidden', 'readOnly', 'required', 'indeterminate']);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// h('p', {class: 'note', onclick: f}, 'text', node, [more])
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let last = 0;
export function uniqueId(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}

// Changes the text only if it differs, so that it does not flicker and is not read out again.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

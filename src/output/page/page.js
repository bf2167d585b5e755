'use strict';
// Lists, filters and sorts the findings of the page. Every text becomes a text node: nothing here parses markup.

const CHUNK = 100; // rows that are made together, when they come near the screen
const PRINTED = 500; // rows that are made for the printer
const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'];

const findings = JSON.parse(document.getElementById('findings').textContent);
findings.forEach((it) => { it.anchor = [it.id, it.cluster, it.object].filter(Boolean).join('/'); });
const rows = document.getElementById('rows');
const CHOICES = ['cluster', 'namespace', 'class', 'driver', 'id'];
const all = () => ({ text: '', severities: new Set(SEVERITIES), order: 'worst', ...Object.fromEntries(CHOICES.map((by) => [by, ''])) });
const filter = all();
const ORDERS = {
  worst: null, // as they were written
  largest: (a, b) => b.bytes - a.bytes,
  oldest: (a, b) => b.seconds - a.seconds,
  object: (a, b) => (a.object < b.object ? -1 : Number(a.object > b.object)),
};
let shown = [];
let height = 44; // of a row, until one was seen

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((it) => it !== undefined && it !== ''));
  return made;
}

function span(name, text) {
  return element('span', { className: name }, text);
}

function small(name, text) {
  return text ? element('small', {}, ` ${name} ${text}`) : '';
}

// One row. What it opens to is made when it is opened.
function row(finding) {
  const details = element('details', {}, element('summary', {},
    span(`severity ${finding.severity}`, finding.severity), element('span', { className: 'object' }, finding.object, small('claim', finding.claim), small('cluster', finding.cluster)),
    span('what', finding.summary),
    span('id', finding.id), span('size', finding.size ?? ''), span('age', finding.age ?? '')));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(opened(finding));
  });
  return element('li', {}, details);
}

function pair(term, value, beside) {
  return value ? element('div', {}, element('dt', {}, term), element('dd', {}, value, beside ? element('small', {}, ` ${beside}`) : '')) : '';
}

function opened(finding) {
  const box = element('div', { className: 'opened' });
  if (finding.command) {
    const command = element('pre', { tabIndex: 0 }, finding.command);
    const copy = element('button', { type: 'button', className: 'copy' }, 'Copy');
    copy.addEventListener('click', () => copyText(command, copy));
    box.append(element('div', { className: 'next' }, command, copy));
  }
  const state = `Verdict: ${finding.state}${finding.reason ? `, ${finding.reason}` : ''}`;
  for (const text of [state, finding.effect && `If it is done: ${finding.effect}`, finding.risk && `Risk: ${finding.risk}`]) {
    if (text) box.append(element('p', {}, text));
  }
  if (finding.causes) {
    const causes = finding.causes.map(([id, object]) => `${id} of ${object}`).join('; ');
    box.append(element('p', {}, `Follows from ${causes}`));
  }
  box.append(element('dl', {}, pair('Cluster', finding.cluster), pair('Claim', finding.claim), pair('Storage class', finding.class), pair('Driver', finding.driver),
    pair('Phase', finding.phase), pair('Reclaim policy', finding.policy), pair('Related', finding.related?.join(', '))));
  box.append(element('h3', {}, 'Evidence'));
  const evidence = finding.evidence.map(([object, field, value]) => pair(field, value || '""', object));
  box.append(element('dl', {}, ...evidence));
  box.append(element('p', {}, element('a', { href: `#${encodeURI(finding.anchor)}` }, 'Link to this finding')));
  return box;
}

async function copyText(node, button) {
  try {
    await navigator.clipboard.writeText(node.textContent);
    button.textContent = 'Copied';
  } catch {
    // The browser does not let this page write to the clipboard: the next key does.
    getSelection().selectAllChildren(node);
    button.textContent = 'Selected';
  }
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
}

// A chunk is empty and as high as its rows until it comes near the screen, and again when it is far away.
function fill(chunk) {
  if (chunk.children.length > 0) return;
  chunk.append(...shown.slice(chunk.start - 1, chunk.start - 1 + CHUNK).map(row));
  chunk.style.height = '';
}

function empty(chunk) {
  if (chunk.children.length === 0 || chunk.querySelector('details[open]') || chunk.contains(document.activeElement)) return;
  height = chunk.offsetHeight / chunk.children.length || height;
  chunk.style.height = `${chunk.offsetHeight}px`;
  chunk.replaceChildren();
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) (entry.isIntersecting ? fill : empty)(entry.target);
}, { rootMargin: '1500px' });

function show() {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  shown = findings.filter((it) => filter.severities.has(it.severity)
    && CHOICES.every((by) => filter[by] === '' || it[by] === filter[by])
    && (words.length === 0 || matches(it, words)));
  const order = ORDERS[filter.order];
  if (order) shown.sort(order);
  near.disconnect();
  const chunks = [];
  for (let start = 0; start < shown.length; start += CHUNK) {
    const chunk = element('ol', { className: 'chunk', start: start + 1 });
    chunk.style.height = `${Math.min(CHUNK, shown.length - start) * height}px`;
    chunks.push(chunk);
  }
  rows.replaceChildren(...chunks);
  if (chunks.length > 0) fill(chunks[0]);
  chunks.forEach((it) => near.observe(it));
  const every = shown.length === findings.length;
  count.textContent = every ? `${shown.length} shown` : `${shown.length} of ${findings.length} shown`;
  clear.hidden = every && filter.order === 'worst';
}

// Each word somewhere in what the finding says.
function matches(finding, words) {
  finding.words ??= JSON.stringify(Object.values(finding)).toLowerCase();
  return words.every((word) => finding.words.includes(word));
}

// Filters

let pending = 0;
function change(changes) {
  Object.assign(filter, changes);
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(show);
}

const search = element('input', { type: 'search', placeholder: 'Search names, handles, errors' });
search.setAttribute('aria-label', 'Search');
search.addEventListener('input', () => change({ text: search.value }));

const severities = SEVERITIES.map((severity) => {
  const number = findings.filter((it) => it.severity === severity).length;
  if (number === 0) return '';
  const box = element('input', { type: 'checkbox', checked: true });
  box.addEventListener('change', () => {
    filter.severities[box.checked ? 'add' : 'delete'](severity);
    change({});
  });
  return element('label', {}, box, span(`severity ${severity}`, `${number} ${severity}`));
});
const fieldset = element('fieldset', {}, ...severities);
fieldset.setAttribute('aria-label', 'Severities');

function choice(by, label, every, values) {
  const select = element('select', { name: by }, ...values.map(([value, text]) => element('option', { value }, text)));
  if (every) select.prepend(element('option', { value: '', selected: true }, every));
  select.setAttribute('aria-label', label);
  select.addEventListener('change', () => change({ [by]: select.value }));
  return select;
}

function choices(by, label, every) {
  const numbers = new Map();
  for (const it of findings) if (it[by]) numbers.set(it[by], (numbers.get(it[by]) ?? 0) + 1);
  return choice(by, label, every, [...numbers].sort().map(([value, number]) => [value, `${value} (${number})`]));
}

const selects = [choices('cluster', 'Cluster', 'All clusters'),
  choices('namespace', 'Namespace', 'All namespaces'), choices('class', 'Storage class', 'All classes'),
  choices('driver', 'Driver', 'All drivers'), choices('id', 'Finding', 'All findings'),
  choice('order', 'Order', '', [['worst', 'Worst first'], ['largest', 'Largest first'], ['oldest', 'Oldest first'], ['object', 'By object']])];

const clear = element('button', { type: 'button', hidden: true }, 'Show all');
clear.addEventListener('click', reset);
const count = element('p', { className: 'count', role: 'status' });

function reset() {
  search.value = '';
  fieldset.querySelectorAll('input').forEach((it) => { it.checked = true; });
  selects.forEach((it) => { it.selectedIndex = 0; });
  change(all());
}

if (findings.length > 0) {
  const used = selects.filter((it) => it.name !== 'cluster' || it.length > 1); // a report about one does not name it
  rows.before(element('div', { className: 'filters' }, search, ...used, fieldset, clear), count);
}

// The name of a place above the list filters the list.
for (const cell of document.querySelectorAll('[data-by]')) {
  const name = cell.textContent;
  const button = element('button', { type: 'button' }, name);
  button.addEventListener('click', () => {
    const select = selects.find((it) => it.name === cell.dataset.by);
    select.value = name;
    change({ [cell.dataset.by]: select.value });
    document.getElementById('list').scrollIntoView();
    select.focus({ preventScroll: true });
  });
  cell.replaceChildren(button);
}

// Links to one finding: #id/object.
function follow() {
  let anchor;
  try {
    anchor = decodeURIComponent(location.hash.slice(1));
  } catch {
    return; // no link of this page
  }
  const finding = findings.find((it) => it.anchor === anchor);
  if (!finding) return;
  if (!shown.includes(finding)) {
    reset();
    cancelAnimationFrame(pending);
    show();
  }
  const at = shown.indexOf(finding);
  const chunk = rows.children[Math.floor(at / CHUNK)];
  fill(chunk);
  const details = chunk.children[at % CHUNK].firstChild;
  details.open = true;
  details.scrollIntoView({ block: 'start' });
  details.firstChild.focus({ preventScroll: true });
}
addEventListener('hashchange', follow);

addEventListener('beforeprint', () => {
  [...rows.children].slice(0, PRINTED / CHUNK).forEach(fill);
  [...rows.children].slice(PRINTED / CHUNK).forEach((it) => { it.hidden = true; });
  if (shown.length > PRINTED) count.textContent = `The first ${PRINTED} of ${shown.length} findings`;
});
addEventListener('afterprint', show);

show();
follow();

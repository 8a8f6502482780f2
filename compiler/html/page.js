"use strict";
// Makes a tree, filters and a panel of details from the list that the page holds. Text goes into
// the page as text only, never as markup.
(() => {
const list = document.getElementById("list");
// What is only read for a search is read when the first one comes.
function lazily(object, read) {
  let text = null;
  Object.defineProperty(object, "text", {get: () => text ??= read().toLowerCase()});
  return object;
}
const groups = list ? [...list.children].map((element, id) => {
  const [summary, facts, paths] = element.children;
  const what = summary.lastElementChild.textContent;
  const {action, reason} = element.dataset;
  const group = lazily({element, id, what, facts, action, reason}, () => what + " " + facts.textContent);
  group.sites = [...paths.children].map((item) => lazily(
      {item, group, path: item.firstElementChild.textContent}, () => item.textContent));
  return group;
}) : [];
if (!groups.length) return;
const total = groups.reduce((sum, group) => sum + group.sites.length, 0);
const kMany = 200;  // siblings shown at once
const kDeep = 64;   // levels of the tree

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
function mark(action, count) {
  const found = groups.find((group) => group.action === action).element.querySelector(".mark").cloneNode(true);
  if (count !== undefined) found.append(" " + count);
  return found;
}

// The tree of what the filters leave.
function grow(sites) {
  const root = {name: "", children: new Map(), sites: []};
  for (const site of sites) {
    let node = root;
    let parts = site.path === "(root)" ? [] : site.path.replace(/#\d+$/, "").split(".");
    if (parts.length > kDeep) parts = [...parts.slice(0, kDeep), parts.slice(kDeep).join(".")];
    for (const part of parts) {
      if (!node.children.has(part)) node.children.set(part, {name: part, children: new Map(), sites: []});
      node = node.children.get(part);
    }
    node.sites.push(site);
  }
  const shapes = new Map();
  finish(root, shapes);
  return root;
}
// Counts, and a number that alike subtrees share; chains of modules without sites become one.
function finish(node, shapes) {
  node.counts = new Map();
  for (const site of node.sites) node.counts.set(site.group.action, (node.counts.get(site.group.action) || 0) + 1);
  for (const child of node.children.values()) {
    finish(child, shapes);
    for (const [action, count] of child.counts) node.counts.set(action, (node.counts.get(action) || 0) + count);
  }
  const key = JSON.stringify([node.sites.map((site) => site.group.id),
                              [...node.children].map(([name, child]) => [name, child.shape])]);
  if (!shapes.has(key)) shapes.set(key, shapes.size);
  node.shape = shapes.get(key);
  if (node.children.size === 1 && !node.sites.length && node.name !== "") {
    const child = [...node.children.values()][0];
    if (!/^\d+$/.test(child.name)) Object.assign(node, {name: node.name + "." + child.name, children: child.children, sites: child.sites});
  }
}
function ranges(numbers) {
  const texts = [];
  for (let i = 0; i < numbers.length;) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end] + 1) ++end;
    texts.push(end > i + 1 ? numbers[i] + "…" + numbers[end] : numbers.slice(i, end + 1).join(", "));
    i = end + 1;
  }
  return texts.join(", ");
}
// What stands under a node: its sites, then its modules, with alike numbered ones as one.
function below(node) {
  const kids = node.sites.map((site) => ({label: "", site, alike: 1}));
  const alike = new Map();
  for (const child of node.children.values()) {
    const key = /^\d{1,9}$/.test(child.name) ? child.shape : "name " + child.name;
    if (!alike.has(key)) alike.set(key, []);
    alike.get(key).push(child);
  }
  for (const nodes of alike.values()) {
    const only = nodes[0];
    const label = nodes.length > 1 ? ranges(nodes.map((each) => +each.name).sort((a, b) => a - b)) : only.name;
    const single = only.sites.length === 1 && !only.children.size;
    kids.push({label, alike: nodes.length, site: single ? only.sites[0] : null, node: single ? null : only});
  }
  return kids;
}

const tree = make("ul", {role: "tree", "aria-label": "modules with sites"});
const detail = make("div", {id: "detail", role: "region", "aria-label": "the chosen site"});
let chosen = null;

function row(kid, level) {
  const label = make("span", {class: "row"}, make("code", {}, kid.label || (kid.site ? kid.site.path.split(".").pop() : "(root)")));
  if (kid.alike > 1) label.append(" × " + kid.alike + " alike");
  const item = make("li", {role: "treeitem", "aria-level": level, tabindex: "-1", "aria-selected": "false"}, label);
  item.kid = kid;
  if (kid.site) {
    label.append(mark(kid.site.group.action), make("span", {class: "what"}, kid.site.group.what));
  } else {
    for (const [action, count] of kid.node.counts) label.append(mark(action, count * kid.alike));
    item.setAttribute("aria-expanded", "false");
  }
  return item;
}
function fill(group, kids, from, level) {
  for (const kid of kids.slice(from, from + kMany)) group.append(row(kid, level));
  if (kids.length > from + kMany) {
    const more = make("li", {role: "treeitem", "aria-level": level, tabindex: "-1"},
                      make("span", {class: "row"}, (kids.length - from - kMany) + " more"));
    more.more = () => {
      more.remove();
      fill(group, kids, from + kMany, level);
      focusOn(group.children[from + kMany]);
    };
    group.append(more);
  }
}
function expand(item, open) {
  if (!item.kid || !item.kid.node) return;
  item.setAttribute("aria-expanded", String(open));
  if (item.lastElementChild.getAttribute("role") === "group") {
    item.lastElementChild.hidden = !open;
  } else if (open) {
    const group = make("ul", {role: "group"});
    fill(group, below(item.kid.node), 0, +item.getAttribute("aria-level") + 1);
    item.append(group);
  }
}
function focusOn(item) {
  if (!item) return;
  for (const other of tree.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
  item.tabIndex = 0;
  item.focus();
}
// A plan's decisions by name; none where two fusions share one.
const entries = new Map();
for (const entry of document.querySelectorAll("#entries > details")) {
  const name = entry.querySelector("summary code").textContent;
  entries.set(name, entries.has(name) ? null : entry.querySelector(".trace"));
}
function show(group, site) {
  detail.replaceChildren(make("h3", {}, mark(group.action), " ", make("code", {}, site.path)));
  const error = site.item.querySelector(".error");
  detail.append(group.facts.cloneNode(true));
  if (error) detail.append(make("p", {}, "verify: ", error.cloneNode(true)));
  const trace = entries.get(group.facts.querySelector("dd").textContent);
  if (trace) detail.append(make("h3", {}, "How the name was decided"), trace.cloneNode(true));
  const others = group.sites.length - 1;
  if (others > 0) {
    const open = make("button", {type: "button"}, others + " more site" + (others > 1 ? "s" : "") + " like this");
    open.addEventListener("click", () => openInList(group));
    detail.append(open);
  }
}
function choose(item) {
  if (item.more) return item.more();
  if (chosen) chosen.setAttribute("aria-selected", "false");
  chosen = item;
  item.setAttribute("aria-selected", "true");
  if (item.kid.site) show(item.kid.site.group, item.kid.site);
  else expand(item, item.getAttribute("aria-expanded") !== "true");
}
tree.addEventListener("click", (event) => {
  const item = event.target.closest("[role=treeitem]");
  if (!item) return;
  focusOn(item);
  choose(item);
});
tree.addEventListener("keydown", (event) => {
  const item = event.target.closest("[role=treeitem]");
  if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
  const shown = [...tree.querySelectorAll("[role=treeitem]")].filter((each) => !each.closest("ul[hidden]"));
  const at = shown.indexOf(item), open = item.getAttribute("aria-expanded");
  const parent = item.parentElement.closest("[role=treeitem]");
  if (event.key === "ArrowDown") focusOn(shown[at + 1]);
  else if (event.key === "ArrowUp") focusOn(shown[at - 1]);
  else if (event.key === "Home") focusOn(shown[0]);
  else if (event.key === "End") focusOn(shown[shown.length - 1]);
  else if (event.key === "ArrowRight") open === "false" ? expand(item, true) : open && focusOn(shown[at + 1]);
  else if (event.key === "ArrowLeft") open === "true" ? expand(item, false) : focusOn(parent);
  else if (event.key === "Enter" || event.key === " ") choose(item);
  else return;
  event.preventDefault();
});

// Filters: by action, reason and text.
const form = make("form", {class: "filters", role: "search", "aria-label": "filter the sites"});
const actions = make("fieldset", {}, make("legend", {}, "Show"));
const boxes = new Map();
for (const action of new Set(groups.map((group) => group.action))) {
  const box = make("input", {type: "checkbox", value: action});
  box.checked = true;
  boxes.set(action, box);
  actions.append(make("label", {}, box, " ", mark(action)));
}
const reasons = [...new Set(groups.map((group) => group.reason))].filter(Boolean).sort();
const reason = make("select", {"aria-label": "reason"}, make("option", {value: ""}, "any reason"),
                    ...reasons.map((code) => make("option", {value: code}, code)));
const text = make("input", {type: "search", placeholder: "path, class, kernel …", "aria-label": "text"});
const status = make("span", {class: "status", role: "status"});
const views = {tree: make("button", {type: "button"}, "Tree"), list: make("button", {type: "button"}, "List")};
form.append(actions, reason, text, views.tree, views.list, status);
const treeView = make("div", {id: "tree-view", class: "split"}, tree, detail);
list.before(form, treeView);

function view(name) {
  treeView.hidden = name !== "tree";
  list.hidden = name !== "list";
  for (const [key, button] of Object.entries(views)) button.setAttribute("aria-pressed", String(key === name));
}
function openInList(group) {
  if (group.element.hidden) {
    for (const box of boxes.values()) box.checked = true;
    reason.value = text.value = "";
    filter();
  }
  view("list");
  group.element.open = true;
  group.element.scrollIntoView();
  group.element.querySelector("summary").focus();
}
function filter() {
  const wanted = text.value.trim().toLowerCase();
  const left = [];
  for (const group of groups) {
    const fits = boxes.get(group.action).checked && (!reason.value || group.reason === reason.value);
    const whole = !wanted || group.text.includes(wanted);
    let any = false;
    for (const site of group.sites) {
      const shown = fits && (whole || site.text.includes(wanted));
      if (site.item.hidden === shown) site.item.hidden = !shown;
      if (shown) left.push(site);
      any = any || shown;
    }
    group.element.hidden = !any;
  }
  status.textContent = left.length + " of " + total + " sites";
  chosen = null;
  detail.replaceChildren(make("p", {class: "status"}, "Choose a site to see its kernel, reason and proof. Arrow keys move in the tree, Enter chooses."));
  tree.replaceChildren();
  const root = grow(left);
  fill(tree, below(root), 0, 1);
  // Opens from the top as long as all fits on a screen.
  for (let i = 0, items; (items = tree.querySelectorAll("[role=treeitem]")).length < 40 && i < items.length; ++i) {
    if (items[i].kid && items[i].kid.node && below(items[i].kid.node).length + items.length <= 60) expand(items[i], true);
  }
  if (tree.firstElementChild) tree.firstElementChild.tabIndex = 0;
}
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
for (const [name, button] of Object.entries(views)) button.addEventListener("click", () => view(name));
function follow() {
  const group = groups.find((each) => "#" + each.element.id === location.hash);
  if (group) openInList(group);
}
addEventListener("hashchange", follow);
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#site-']");
  if (link && link.hash === location.hash) follow();
});
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details.fallback:not([open])")];
  for (const element of opened) element.open = true;
});
addEventListener("afterprint", () => {
  for (const element of opened) element.open = false;
});
filter();
view("tree");
follow();
})();

"use strict";
// Filters, pages of results, sorting and the theme. The texts lie in the chunks, already drawn and escaped; this script
// inflates the ones that are asked for and puts them in their place.

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

function paragraph(style, text) {
  return Object.assign(document.createElement("p"), { className: style, textContent: text });
}

// Inflating

async function inflate(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

class Chunks {
  // Remembers the chunks used last, so that going back and forth costs nothing and memory stays bounded.
  constructor(elements, most) {
    this.elements = elements;
    this.most = most;
    this.kept = new Map();
  }

  async cases(number) {
    const found = this.kept.get(number) ?? inflate(this.elements[number]).then((text) => text.split("\0"));
    this.kept.delete(number);
    this.kept.set(number, found);
    if (this.kept.size > this.most) this.kept.delete(this.kept.keys().next().value);
    return found;
  }
}

// The texts

const folded = (text) => text.normalize("NFKC").toLowerCase();

class Texts {
  constructor(index) {
    this.index = index;
    this.rows = index.rows.map(([data, model, label, predicted, probability, text]) => ({
      data, model, label, predicted, probability, text: folded(text),
    }));
    this.chunks = new Chunks($$("script.chunk"), 60);
    this.form = $("#filters");
    this.holder = $("#cases");
    this.page = 0;
    this.drawing = 0;
    this.build();
    this.read();
    this.listen();
    this.update(false);
  }

  get facets() {
    const { data, models, labels } = this.index;
    return [["data", data], ["model", models], ["label", labels], ["predicted", labels]];
  }

  build() {
    const { data, models, methods } = this.index;
    const counts = (key) => this.rows.reduce((all, row) => all.set(row[key], (all.get(row[key]) ?? 0) + 1), new Map());
    for (const [key, names] of this.facets) {
      const select = this.form.elements[key];
      const found = [...counts(key)].sort(([one], [other]) => one - other);
      select.append(new Option("all", ""));
      for (const [number, count] of found) {
        select.append(new Option(`${number < 0 ? "(none)" : names[number]} (${count.toLocaleString("en")})`, number));
      }
      select.parentElement.hidden = found.length < 2;
    }
    this.form.elements.right.parentElement.hidden = this.rows.every((row) => row.label < 0);
    this.form.elements.matrices.parentElement.hidden = !this.index.linked;
    $("#methods").append(...methods.map((name, number) => {
      const label = document.createElement("label");
      const box = { type: "checkbox", name: "method", value: number, defaultChecked: true };
      const isolated = Object.assign(document.createElement("bdi"), { textContent: name });
      label.append(Object.assign(document.createElement("input"), box), " ", isolated);
      return label;
    }));
    document.documentElement.classList.toggle("one-data", data.length < 2);
    document.documentElement.classList.toggle("one-model", models.length < 2);
    this.form.hidden = false;
    for (const pager of $$(".pager")) pager.hidden = false;
  }

  get boxes() { return $$('input[name="method"]', this.form); }

  listen() {
    let waiting;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.update(true), event.target.name === "text" ? 150 : 0);
    });
    this.form.addEventListener("reset", () => setTimeout(() => this.update(true)));
    for (const [id, checked] of [["all", true], ["none", false]]) {
      $(`#${id}`).addEventListener("click", () => {
        for (const box of this.boxes) box.checked = checked;
        this.update(true);
      });
    }
    for (const [place, pager] of $$(".pager").entries()) {
      pager.addEventListener("click", (event) => {
        const step = Number(event.target.dataset?.go ?? 0);
        if (step && event.target.getAttribute("aria-disabled") !== "true") this.turn(step, place > 0);
      });
    }
    addEventListener("hashchange", () => {
      if (this.read()) this.update(false);
    });
  }

  async turn(step, fromBelow) {
    this.page += step;
    await this.update(false);
    if (fromBelow) {
      $(".pager").scrollIntoView();
      $(`.pager [data-go="${step}"]`).focus({ preventScroll: true });
    }
  }

  // The state of the filters is in the address, so that a link leads back to it.

  read() {
    const hash = location.hash.slice(1);
    if (hash === this.written || (hash && !hash.includes("="))) return false; // a part of the page, not a state
    const given = new URLSearchParams(hash);
    const { methods } = this.index;
    const number = (names, name) => (name === null ? "" : String(name === "(none)" && !names.includes(name) ? -1 : names.indexOf(name)));
    const fields = this.form.elements;
    for (const key of ["text", "right", "order"]) fields[key].value = given.get(key) ?? "";
    for (const [key, names] of this.facets) {
      fields[key].value = number(names, given.get(key));
    }
    for (const select of $$("select", this.form)) if (select.selectedIndex < 0) select.value = "";
    const hidden = new Set(given.getAll("hide"));
    for (const box of this.boxes) box.checked = !hidden.has(methods[box.value]);
    for (const key of ["scores", "matrices"]) fields[key].checked = given.has(key);
    this.page = Math.max(0, Math.trunc(Number(given.get("page") ?? 1)) - 1 || 0);
    return true;
  }

  write() {
    const { methods } = this.index;
    const fields = this.form.elements;
    const state = new URLSearchParams();
    for (const key of ["text", "right", "order"]) if (fields[key].value) state.set(key, fields[key].value);
    for (const [key, names] of this.facets) {
      if (fields[key].value !== "") state.set(key, names[fields[key].value] ?? "(none)");
    }
    for (const box of this.boxes) if (!box.checked) state.append("hide", methods[box.value]);
    for (const key of ["scores", "matrices"]) if (fields[key].checked) state.set(key, "1");
    if (this.page) state.set("page", this.page + 1);
    this.written = state.toString();
    if (this.written === location.hash.slice(1) || (!this.written && !location.hash.includes("="))) return;
    try {
      history.replaceState(null, "", this.written ? `#${this.written}` : location.pathname + location.search);
    } catch { /* a page inside another one may not have an address */ }
  }

  // What is asked for, and showing it

  found() {
    const fields = this.form.elements;
    const words = folded(fields.text.value).split(/\s+/).filter(Boolean);
    const wanted = this.facets.map(([key]) => key).filter((key) => fields[key].value !== "").map((key) => [key, Number(fields[key].value)]);
    const right = fields.right.value;
    const numbers = [];
    this.rows.forEach((row, number) => {
      if (wanted.some(([key, value]) => row[key] !== value)) return;
      if (right && (row.label < 0 || (row.label === row.predicted) !== (right === "right"))) return;
      if (words.every((word) => row.text.includes(word))) numbers.push(number);
    });
    const sure = (number) => this.rows[number].probability ?? -1;
    if (fields.order.value === "least") numbers.sort((one, other) => sure(one) - sure(other));
    if (fields.order.value === "most") numbers.sort((one, other) => sure(other) - sure(one));
    return numbers;
  }

  // Whether a text is the one before it, as another model has it.

  again(number, before) {
    const [row, other] = [this.rows[number], this.rows[before]];
    return other !== undefined && row.data === other.data && row.text === other.text;
  }

  // What several models say of one text is not parted.

  pages(numbers) {
    const pages = [[]];
    numbers.forEach((number, place) => {
      if (pages.at(-1).length >= this.index.size && !this.again(number, numbers[place - 1])) pages.push([]);
      pages.at(-1).push(number);
    });
    return pages;
  }

  async update(fromStart) {
    if (fromStart) this.page = 0;
    const { size } = this.index;
    const pages = this.pages(this.found());
    this.page = Math.min(this.page, pages.length - 1);
    const shown = pages[this.page];
    this.write();
    this.say(pages);
    this.holder.setAttribute("aria-busy", "true");
    const drawing = ++this.drawing;
    const html = await Promise.all(shown.map(async (number) => (await this.chunks.cases(Math.floor(number / size)))[number % size]));
    if (drawing !== this.drawing) return; // something else has been asked for meanwhile
    this.holder.innerHTML = html.join(""); // drawn and escaped when the page was written
    for (const [place, element] of $$(".case", this.holder).entries()) {
      element.classList.toggle("again", this.again(shown[place], shown[place - 1]));
    }
    if (!html.length) this.holder.append(paragraph("nothing", "No text matches these filters."));
    const hidden = new Set(this.boxes.filter((box) => !box.checked).map((box) => this.index.methods[box.value]));
    for (const cell of $$(".cell", this.holder)) cell.hidden = hidden.has(cell.dataset.method);
    for (const matrix of $$("details.matrix", this.holder)) matrix.open = this.form.elements.matrices.checked;
    document.documentElement.classList.toggle("scores", this.form.elements.scores.checked);
    this.holder.removeAttribute("aria-busy");
  }

  say(pages) {
    const count = (number) => number.toLocaleString("en");
    const many = (some) => some.reduce((sum, page) => sum + page.length, 0);
    const [total, from, shown] = [many(pages), many(pages.slice(0, this.page)), pages[this.page].length];
    const all = total === this.rows.length ? count(total) : `${count(total)} found of ${count(this.rows.length)}`;
    const said = total === 0 ? `None of ${count(this.rows.length)} texts` : `Texts ${count(from + 1)}–${count(from + shown)} of ${all}`;
    for (const pager of $$(".pager")) {
      const where = $("p", pager);
      if (where.textContent !== said) where.textContent = said;
      $('[data-go="-1"]', pager).setAttribute("aria-disabled", this.page === 0);
      $('[data-go="1"]', pager).setAttribute("aria-disabled", this.page >= pages.length - 1);
    }
  }
}

// Tables that sort by a click on a head

function sortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const text = row.cells[column]?.dataset.value;
    const value = Number(text);
    return text === undefined || text === "nan" ? null : Number.isNaN(value) ? text : value;
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const rows = [...body.rows].map((row) => [key(row, column), row]);
      rows.sort(([one], [other]) => {
        if (one === null || other === null) return (one === null) - (other === null); // what has no figure stays last
        return sign * (typeof one === "string" ? one.localeCompare(other) : one - other);
      });
      body.append(...rows.map(([, row]) => row));
    });
  });
}

// The theme: the system's until someone chooses

function theming(button) {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const label = () => { button.textContent = dark() ? "☀ Light" : "☾ Dark"; };
  try {
    const kept = localStorage.getItem("rationales-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch { /* storage may be forbidden */ }
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("rationales-theme", root.dataset.theme); } catch { /* then it lasts as long as the page */ }
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  button.hidden = false;
}

function copying(button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

theming($("#theme"));
$$(".copy").forEach(copying);
$$("table.sortable").forEach(sortable);
if (typeof DecompressionStream === "function") {
  inflate($("#index")).then((text) => new Texts(JSON.parse(text)));
} else {
  $("#cases").before(paragraph("advice", "The first texts. The others, and the filters, need a browser of 2023 or later."));
}

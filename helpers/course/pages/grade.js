// The page on which people grade: shows one answer after another, and sends each decision at once.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const sections = [...document.querySelectorAll("section.card")];
const letters = "abcdefghijklmnopqrstuvwxyz";
const latest = new Map(); // by student: the decision that counts
let bank = data.bank;
let line = data.line; // of the file of decisions, up to which this page knows it
let current = 0; // of the answers of this page
let alone = -1; // of a group: the one student who is graded, -1 for all
let waiting = Promise.resolve(); // decisions are sent one after another
let unsent = 0;
const everywhere = new Map(); // by lab, question and student: the last decision that is kept
const STORE = `unsent ${data.base}`; // in this tab: a reload loses nothing that was decided
let queue = []; // what is kept there: decisions that the program has not confirmed

const who = element("who");
who.value = localStorage.getItem("who") || data.who;
who.addEventListener("change", () => localStorage.setItem("who", who.value));

const students = (card) => data.cards[data.first + card][0];
const chosen = () => (alone < 0 ? students(current) : [students(current)[alone]]);
const decision = (name) => {
  const one = latest.get(name);
  return one && !one.withdrawn ? one : { points: null, items: [], comment: "", line: one?.line || 0 };
};
const has = (name) => decision(name).points !== null;

function say(text, isBad = false) {
  element("said").textContent = text;
  element("said").className = isBad ? "bad" : "";
}

const placeOf = (one, student) => JSON.stringify([one.lab, one.of, student]);

function take(decisions) {
  for (const one of decisions) {
    line = Math.max(line, one.line);
    everywhere.set(placeOf(one, one.student), one);
    if (one.lab !== data.lab || one.of !== data.of) continue;
    if ((latest.get(one.student)?.line || 0) > one.line) continue;
    const place = placeOf(one, one.student);
    const coming = queue.filter((of) => of.names.some((name) => placeOf(of, name) === place));
    latest.set(one.student, coming.reduce((is, of) => ({ ...is, ...of.more, withdrawn: false }), one));
    if (one.comment && !bank.includes(one.comment)) bank = [one.comment, ...bank];
  }
}

// ---- what is shown ----

function show() {
  sections.forEach((section, k) => { section.hidden = k !== current; });
  const next = sections[current + 1]?.querySelector("img");
  if (next) new Image().src = next.src;
  const every = data.cards.flatMap(([names]) => names);
  const coming = queue.length ? `, ${queue.length} not kept yet` : "";
  element("progress").textContent = `graded ${every.filter(has).length} of ${every.length}${coming}`;
  showList();
  if (!data.of || !sections.length) return;
  const name = chosen()[0];
  const one = decision(name);
  element("points").textContent = one.points === null ? "–" : one.points;
  element("by").textContent = one.who ? `${one.who}, ${one.at.replace("T", " ").replace("Z", " UTC")}` : "";
  element("request").hidden = !one.request;
  element("request").textContent = `${name} asks: ${one.request}`;
  if (document.activeElement !== element("comment")) element("comment").value = one.comment;
  element("items").replaceChildren(...data.items.map(([what, points], k) => {
    const row = document.createElement("li");
    row.textContent = `${letters[k]}  ${what}: ${points}`;
    row.className = one.items.includes(what) ? "met" : "";
    row.addEventListener("click", () => toggle(k));
    return row;
  }));
  showBank(-1);
  const group = students(current);
  const addresses = data.cards[data.first + current][2][Math.max(alone, 0)];
  sections[current].querySelectorAll("img.figure").forEach((image, k) => {
    if (addresses[k] && !image.src.endsWith(addresses[k])) image.src = addresses[k];
  });
  element("together").hidden = group.length < 2;
  const others = group.filter((name) => decision(name).points !== one.points).length;
  element("together").textContent = alone < 0
    ? `The decision is for all ${group.length} students${others ? `; ${others} have other points` : ""}.`
    : `The figure and the decision are those of ${name} alone.`;
}

function showList() {
  const rows = sections.map((_, k) => {
    const row = document.createElement("button");
    const names = students(k);
    row.textContent = names[0] + (names.length > 1 ? ` + ${names.length - 1}` : "");
    const given = names.filter(has);
    row.className = given.length === names.length ? "given" : "";
    row.dataset.points = given.length ? decision(given[0]).points : "";
    row.tabIndex = -1;
    if (k === current) row.setAttribute("aria-current", "true");
    row.addEventListener("click", () => go(k));
    return row;
  });
  const pages = Math.max(...data.cards.map(([, page]) => page), 1);
  if (pages > 1) {
    const place = document.createElement("p");
    place.textContent = `page ${data.page} of ${pages}`;
    rows.unshift(place);
  }
  element("list").replaceChildren(...rows);
  element("list").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

function matching() {
  const typed = element("comment").value.trim().toLowerCase();
  const known = decision(chosen()[0]).comment.toLowerCase();
  return bank.filter((text) => typed === known || text.toLowerCase().includes(typed)).slice(0, 8);
}

function showBank(picked) {
  element("bank").replaceChildren(...matching().map((text, k) => {
    const row = document.createElement("li");
    row.textContent = text;
    row.className = k === picked ? "met" : "";
    row.addEventListener("mousedown", (event) => {
      event.preventDefault();
      element("comment").value = text;
      keepWords();
    });
    return row;
  }));
}

// ---- moving ----

function go(card) {
  keepWords();
  alone = -1;
  if (card >= 0 && card < sections.length) {
    current = card;
    say("");
    show();
    scrollTo(0, 0);
    return;
  }
  const page = data.page + Math.sign(card - current);
  if (page >= 1 && data.cards.some(([, of]) => of === page)) {
    leave(page, card < 0 ? "last" : "first");
  } else {
    say(card < 0 ? "This is the first answer." : "This is the last answer.");
  }
}

// The page leaves when what was decided is kept.
function leave(page, at, number = data.number) {
  const place = number < 0 ? "" : `${number}/${page}#${at}`; // "": the list of questions
  waiting = waiting.then(() => { location.href = data.base + place; });
}

function nextOpen() {
  const here = data.first + current;
  const isOpen = ([names]) => !names.every(has);
  const order = data.cards.map((card, k) => [card, k]);
  const found = [...order.slice(here + 1), ...order.slice(0, here + 1)].find(([card]) => isOpen(card));
  if (!found) {
    say("All answers have points. Shift + → opens the next question.");
  } else if (found[0][1] === data.page) {
    go(found[1] - data.first);
  } else {
    keepWords();
    leave(found[0][1], found[1]);
  }
}

// ---- deciding ----

// Send a decision about the answer that is shown; `more` says what changes.
function decide(more) {
  const names = chosen();
  const one = { who: who.value, lab: data.lab, of: data.of, names, more };
  one.seen = seenOf(one);
  for (const name of names) { // shown at once; the answer brings its line
    latest.set(name, { ...decision(name), ...more, who: who.value, at: "" });
  }
  if (more.comment && !bank.includes(more.comment)) bank = [more.comment, ...bank];
  show();
  sendDecision(one);
}

const seenOf = (one) => Object.fromEntries(
  one.names.map((name) => [name, everywhere.get(placeOf(one, name))?.line || 0]),
);

function sendDecision(one) {
  const store = (left) => {
    queue = left;
    sessionStorage.setItem(STORE, JSON.stringify(queue));
  };
  store([...queue, one]);
  const body = () => ({ who: one.who, lab: one.lab, of: one.of, ...one.more, seen: seenOf(one) });
  send("decide", body, () => store(queue.filter((other) => other !== one)));
}

// Send what this tab had not sent when it was left, but nothing over what others decided since.
async function sendLeft() {
  const left = JSON.parse(sessionStorage.getItem(STORE) || "[]");
  if (!left.length) return;
  queue = left;
  await refresh(true);
  const others = [];
  for (const one of left) {
    const isOpen = one.names.every((name) => {
      const now = everywhere.get(placeOf(one, name));
      return (now?.line || 0) === one.seen[name] || now.who === one.who;
    });
    queue = queue.filter((other) => other !== one);
    if (isOpen) sendDecision(one);
    else others.push(`${one.names.join(", ")} (${one.of})`);
  }
  sessionStorage.setItem(STORE, JSON.stringify(queue));
  if (!others.length) return;
  waiting = waiting.then(() => say(`Not kept: others have decided about ${others.join(", ")}`, true));
}

function send(what, body, done = () => {}) {
  unsent += 1;
  waiting = waiting.then(() => sendNow(what, body, done)).then(() => { unsent -= 1; });
}

async function sendNow(what, body, done) {
  for (let tries = 0; ; tries += 1) {
    let answer;
    try {
      answer = await fetch(data.base + what, { method: "POST", body: JSON.stringify(body()),
        headers: { "Content-Type": "application/json" }, keepalive: true });
    } catch {
      say("Not kept yet: the program does not answer. Start it again; this page continues.", true);
      await new Promise((done) => setTimeout(done, 1000));
      continue;
    }
    const found = await answer.json().catch(() => ({ said: `the program answers ${answer.status}` }));
    done();
    if (answer.ok) {
      take(found.decisions);
      if (what === "undo") showUndone(found.decisions);
      else say("Kept");
    } else {
      if (found.now) take(found.now.map((one) => ({ ...one })));
      await refresh(true);
      say(`Not kept. ${found.said}`, true);
    }
    show();
    return;
  }
}

function showUndone(decisions) {
  const [{ student, lab, of }] = decisions;
  const here = sections.findIndex((_, k) => students(k).includes(student));
  if (here >= 0 && lab === data.lab && of === data.of) {
    current = here;
    alone = -1;
  }
  say(`Undone: ${decisions.map((one) => one.student).join(", ")} (lab ${lab}, ${of})`);
}

// Read what others have decided. isAll: from the beginning, to forget what was shown and not kept.
async function refresh(isAll = false) {
  const answer = await fetch(`${data.base}since/${isAll ? 0 : line}`).catch(() => null);
  if (!answer?.ok) return;
  const found = (await answer.json()).decisions;
  if (isAll) latest.clear();
  take(found);
  if (found.length) show();
}

function toggle(k) {
  if (k >= data.items.length) return;
  const what = data.items[k][0];
  const before = decision(chosen()[0]).items;
  const items = before.includes(what) ? before.filter((one) => one !== what) : [...before, what];
  const sum = data.items.filter(([one]) => items.includes(one)).reduce((n, [, p]) => n + p, 0);
  decide({ items, points: Math.min(sum, data.most) });
}

function give(points) {
  if (points > data.most) {
    say(`The most is ${data.most}.`, true);
  } else {
    decide({ points });
  }
}

function keepWords() {
  if (!data.of || !sections.length) return;
  const words = element("comment").value.trim();
  if (words !== decision(chosen()[0]).comment) decide({ comment: words });
}

// ---- the keyboard ----

let picked = -1;
let typed = { text: "", place: "", at: 0 }; // digits of points that are typed one after another

// Return the points that a digit means: with the one before it, if that makes points that exist.
function pointsOf(digit) {
  const place = chosen().join();
  const goesOn = typed.place === place && performance.now() - typed.at < 1000;
  const longer = goesOn ? typed.text + digit : digit;
  typed = { text: Number(longer) <= data.most ? longer : digit, place, at: performance.now() };
  return Number(typed.text);
}

function inWords(event) {
  const found = matching();
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    picked = Math.max(Math.min(picked + (event.key === "ArrowDown" ? 1 : -1), found.length - 1), -1);
    showBank(picked);
  } else if (event.key === "Enter" && !event.shiftKey) {
    if (picked >= 0) element("comment").value = found[picked];
    keepWords();
    element("comment").blur();
  } else if (event.key === "Escape") {
    element("comment").value = decision(chosen()[0]).comment;
    element("comment").blur();
    show();
  } else {
    return;
  }
  event.preventDefault();
}

document.addEventListener("keydown", (event) => {
  if (event.target === element("comment")) return inWords(event);
  if (event.target === who || event.altKey || event.metaKey) return;
  if (event.ctrlKey) {
    if (event.key !== "z" || !data.of) return;
    send("undo", () => ({ who: who.value }));
  } else if (event.shiftKey && /^Arrow(Left|Right)$/.test(event.key)) {
    keepWords();
    leave(1, "first", data.number + (event.key === "ArrowRight" ? 1 : -1));
  } else if (event.key === "ArrowRight" || event.key === "Enter") {
    go(current + 1);
  } else if (event.key === "ArrowLeft") {
    go(current - 1);
  } else if (event.key === "ArrowDown") {
    nextOpen();
  } else if (!data.of || !sections.length) {
    return;
  } else if (/^[0-9]$/.test(event.key)) {
    give(pointsOf(event.key));
  } else if (event.key === ".") {
    give((decision(chosen()[0]).points || 0) + 0.5);
  } else if (event.key === "-") {
    decide({ points: null, items: [] });
  } else if (event.key === "/") {
    picked = -1;
    element("comment").focus();
  } else if (event.key === "=" && students(current).length > 1) {
    keepWords();
    alone = alone + 1 < students(current).length ? alone + 1 : -1;
    show();
  } else if (letters.includes(event.key)) {
    toggle(letters.indexOf(event.key));
  } else {
    return;
  }
  event.preventDefault();
});
element("comment")?.addEventListener("input", () => { picked = -1; showBank(-1); });
element("comment")?.addEventListener("blur", keepWords);
addEventListener("beforeunload", (event) => {
  keepWords();
  if (unsent) event.preventDefault();
});

take(data.decisions);
const at = location.hash.slice(1);
if (at === "last") current = sections.length - 1;
else if (/^\d+$/.test(at)) current = Number(at) - data.first;
current = Math.max(Math.min(current, sections.length - 1), 0);
show();
sendLeft();
setInterval(() => { if (!unsent) refresh(); }, 3000);

// A slate of five drinks: a click on one is a loss of 0, "None of these" one of 1. It is privatised before it leaves.

import { connect } from "./sottovoce.js";

const place = document.querySelector('meta[name="sottovoce"]');
const { study: name, key, epsilon, answers } = place.dataset;
const study = connect(place.content, { study: name, key: key || undefined, epsilon: Number(epsilon) });

const [slate, none, said] = ["slate", "none", "said"].map((id) => document.getElementById(id));
const memory = `sottovoce: answers to ${name}`; // their number, and nothing else: each answer spends
let shown = null; // the action on the screen, until its loss is told

function answered() {
  return Number(localStorage.getItem(memory) ?? 0);
}

async function show() {
  try {
    if (answered() >= Number(answers)) {
      say("Thank you. That is all that we may ask of one visitor.");
      return;
    }
    shown = await study.ask({ x: "none" });
  } catch (problem) {
    say(`Nothing can be shown at present: ${problem.message}`);
    return;
  }
  slate.replaceChildren(...shown.chosen.map(choice));
  slate.dataset.action = shown.id;
  none.disabled = false;
}

function choice(drink) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = drink;
  button.addEventListener("click", () => answer(0, `${drink} it is.`));
  const item = document.createElement("li");
  item.append(button);
  return item;
}

async function answer(loss, words) {
  if (shown === null) return;
  const { id, wantsLoss } = shown;
  shown = null;
  none.disabled = true;
  slate.replaceChildren();
  say(words);
  const counts = wantsLoss && answered() < Number(answers); // another window may have been quicker
  if (counts) localStorage.setItem(memory, answered() + 1); // first: what is not sent may be lost, never sent twice
  const told = counts ? study.tell(id, loss, { late: "drop" }) : Promise.resolve();
  await told.catch((problem) => say(`That did not get through: ${problem.message}`));
  await show();
}

function say(words) {
  said.textContent = words;
}

none.addEventListener("click", () => answer(1, "Perhaps one of these?"));
// Who leaves without an answer has told nothing. To count that as "none" would give it away: nobody else leaves then.
addEventListener("pageshow", (event) => event.persisted && shown === null && show());

await show();
if (shown !== null) say("Choose a drink.");

// Code that calls this ranker, ready to copy.

import { key } from "./api.js";
import { announce, el, setText } from "./dom.js";

/** Quote a text for a shell. Ids come from users and may contain any character. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(ranker, items) {
  const { origin } = location;
  const head = key() === null ? "" : ` \\\n  -H "Authorization: Bearer $CLICKRANK_KEY"`;
  const shadow = ranker.mode === "shadow";
  const current = shadow ? `, "current": ${JSON.stringify(items)}` : "";
  const body = `"{\\"id\\": \\"$visit\\"}"`;
  const asked = shadow ? `'{"id": "'$visit'"'${quoted(`${current}}`)}` : body;
  return [
    "visit=visit-$(date +%s)",
    "# 1. Request a list, and show it.",
    `curl -s ${origin}/v1/rankers/${ranker.name}/rank${head} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${asked}`,
    "# 2. Report the clicks; [] means none.",
    `curl -s ${origin}/v1/impressions/$visit/clicks${head} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"clicked": [], "final": true}'`,
  ].join("\n");
}

function python(ranker, items) {
  const withKey = key() === null ? "" : `, key=os.environ["CLICKRANK_KEY"]`;
  const current = ranker.mode === "shadow" ? `, current=${JSON.stringify(items)}` : "";
  return [
    ...(key() === null ? [] : ["import os", ""]),
    "from clickrank.client import Client",
    "",
    `with Client("${location.origin}"${withKey}) as client:`,
    "    # 1. Request a list, and show it.",
    `    shown = client.rank("${ranker.name}"${current})`,
    "    print(shown.items)",
    "    # 2. Report the clicks; [] means none.",
    "    client.click(shown.id, [], final=True)",
  ].join("\n");
}

async function copy(code, button) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    announce("Copied.");
    setText(button, "Copied");
  } catch {
    // The clipboard is not available: select the text, so that the user can copy it.
    getSelection().selectAllChildren(code);
    announce("Selected. Copy it with the keyboard.");
    setText(button, "Selected");
  }
  setTimeout(() => setText(button, "Copy"), 2000);
}

function block(title) {
  const code = el("code");
  const click = (event) => copy(code, event.currentTarget);
  const button = el(
    "button",
    { type: "button", class: "small", "aria-label": `Copy the ${title} snippet`, on: { click } },
    "Copy",
  );
  const pre = el("pre", { tabindex: "0", role: "region", "aria-label": `${title} snippet` }, code);
  const element = el(
    "div",
    { class: "snippet" },
    el("div", { class: "snippet-head" }, el("h3", {}, title), button),
    pre,
  );
  return { element, code };
}

/** Create the snippets. `update(ranker, items)` needs items for the page's list in shadow mode. */
export function snippets() {
  const shell = block("curl");
  const program = block("Python");
  return {
    element: el("div", { class: "snippets" }, shell.element, program.element),
    update(ranker, items) {
      setText(shell.code, curl(ranker, items));
      setText(program.code, python(ranker, items));
    },
  };
}

// The basics of accessibility, read off the page as it is drawn; returns what is wrong.
() => {
  const wrong = [];
  const show = (node) =>
    `<${node.tagName.toLowerCase()} class="${node.getAttribute("class") ?? ""}" id="${node.id}"> ${(node.textContent ?? "").trim().slice(0, 40)}`;
  const visible = (node) =>
    node.checkVisibility({ opacityProperty: false, visibilityProperty: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);

  const named = (node) => {
    const of = (ids) =>
      ids
        .split(/\s+/)
        .map((id) => document.getElementById(id)?.textContent ?? "")
        .join(" ")
        .trim();
    const pieces = [
      node.getAttribute("aria-label"),
      node.hasAttribute("aria-labelledby") ? of(node.getAttribute("aria-labelledby")) : "",
      ...[...(node.labels ?? [])].map((label) => label.textContent),
    ];
    if (!["INPUT", "SELECT", "TEXTAREA", "svg", "SECTION"].includes(node.tagName))
      pieces.push(node.textContent);
    return pieces.some((text) => (text ?? "").trim() !== "");
  };
  const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0'], dialog";
  for (const node of all(CONTROLS)) if (!named(node)) wrong.push(`no name: ${show(node)}`);
  for (const node of all("[role='region'], [role='img'], section, fieldset"))
    if (!named(node)) wrong.push(`no name: ${show(node)}`);

  for (const image of all("img"))
    if (!image.hasAttribute("alt")) wrong.push(`no alternative: ${show(image)}`);
  for (const image of all("svg")) {
    const silent = image.closest("[aria-hidden='true']") !== null;
    if (!silent && !(image.getAttribute("role") === "img" && named(image)))
      wrong.push(`no alternative: ${show(image)}`);
  }

  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids))
    if (ids.filter((each) => each === id).length > 1) wrong.push(`id twice: ${id}`);
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const node of document.querySelectorAll(`[${name}]`)) {
      for (const id of node.getAttribute(name).split(/\s+/)) {
        if (document.getElementById(id) === null && visible(node))
          wrong.push(`${name} leads nowhere: ${show(node)}`);
      }
    }
  }

  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title.trim()) wrong.push("no title");
  if (all("main").length !== 1) wrong.push("not one main landmark");
  if (all("h1").length !== 1) wrong.push("not one h1");
  let level = 0;
  for (const heading of all("h1, h2, h3, h4, dialog h2")) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) wrong.push(`heading jumps from ${level}: ${show(heading)}`);
    level = now;
  }
  for (const table of all("table")) {
    if (table.querySelector("caption") === null) wrong.push(`no caption: ${show(table)}`);
    for (const head of table.querySelectorAll("th"))
      if (!head.hasAttribute("scope")) wrong.push(`no scope: ${show(head)}`);
  }
  for (const node of all("button, .button, input:not([type='range']), select, summary")) {
    const { width, height } = node.getBoundingClientRect();
    if (
      node.tagName !== "SUMMARY" &&
      Math.min(width, height) < 24 &&
      !["radio", "checkbox"].includes(node.type)
    ) {
      wrong.push(`smaller than 24 pixels: ${show(node)}`);
    }
  }

  // Contrast: the text's colour over all the grounds under it, as the browser mixes them.
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const cache = new Map();
  const rgba = (text) => {
    if (!cache.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      cache.set(text, [r, g, b, a / 255]);
    }
    return cache.get(text);
  };
  const over = (top, bottom) =>
    [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const ground = (node) => {
    if (node === null) return rgba(getComputedStyle(document.body).backgroundColor);
    const own = rgba(getComputedStyle(node).backgroundColor);
    return own[3] === 1 ? own : over(own, ground(node.parentElement));
  };
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((v) =>
      v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (
      !walker.currentNode.textContent.trim() ||
      !visible(node) ||
      node.closest("noscript, .hidden, .skip, :disabled, option")
    )
      continue;
    const style = getComputedStyle(node);
    const below = ground(node.closest("svg") ? node.closest("svg").parentElement : node);
    let colour = rgba(node.closest("svg") ? style.fill : style.color);
    let opacity = 1;
    for (let each = node; each !== null; each = each.parentElement)
      opacity *= Number(getComputedStyle(each).opacity);
    colour = over([...colour.slice(0, 3), colour[3] * opacity], below);
    const [bright, dark] = [light(colour), light(below)].sort((a, b) => b - a);
    const ratio = (bright + 0.05) / (dark + 0.05);
    texts += 1;
    if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${show(node)}`);
  }
  if (texts === 0) wrong.push("no text found");
  return wrong;
};

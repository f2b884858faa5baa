// The rules of a layout: nothing is cut, and nothing overlaps.

/** Runs in the page. Returns what breaks the rules. */
export function layoutProblems() {
  const problems = [];
  const name = (element) => `${element.localName}${element.id && `#${element.id}`}.${element.className} "${element.textContent.trim().slice(0, 30)}"`;
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) problems.push(`the page is ${root.scrollWidth} pixels wide`);
  if (root.scrollHeight > innerHeight) problems.push(`the page is ${root.scrollHeight} pixels high`);
  const visible = [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility() && !element.closest("#toast, .skip"));
  // Text that is cut by its own box, where the style does not say so.
  for (const element of visible) {
    const style = getComputedStyle(element);
    const mayScroll = /auto|scroll/.test(style.overflowX);
    const isElided = style.textOverflow === "ellipsis";
    if (!mayScroll && !isElided && element.scrollWidth > element.clientWidth + 1 && style.display !== "inline" && element.clientWidth > 0 && !element.matches("select, input, summary")) {
      const box = element.getBoundingClientRect();
      if (box.width > 0) problems.push(`cut: ${name(element)} ${element.scrollWidth} > ${element.clientWidth}`);
    }
    if (mayScroll && element.scrollWidth > element.clientWidth + 1 && !element.matches("pre, textarea")) problems.push(`scrolls sideways: ${name(element)}`);
  }
  // Controls are inside the window, and apart from each other.
  const controls = visible.filter((element) => element.matches("button, input, select, textarea, summary, audio, img, h1, h2, .badge"));
  const boxes = controls.map((element) => ({ element, box: element.getBoundingClientRect() })).filter(({ box }) => box.width > 0 && box.height > 0);
  for (const { element, box } of boxes) {
    if (box.left < -1 || box.right > innerWidth + 1) problems.push(`outside: ${name(element)}`);
  }
  const scrolled = (element) => element.closest("#items, #work, .trace-list, .trace-detail, #log");
  for (const [place, a] of boxes.entries()) {
    for (const b of boxes.slice(place + 1)) {
      if (a.element.contains(b.element) || b.element.contains(a.element) || scrolled(a.element) !== scrolled(b.element)) continue;
      const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      if (across > 1 && down > 1) problems.push(`overlap: ${name(a.element)} and ${name(b.element)}`);
    }
  }
  return problems.slice(0, 10);
}

// SPDX-License-Identifier: Apache-2.0
// Replaces parts of the page by what the server sends, unless somebody holds it still. Everything works without.
"use strict";
(() => {
  const main = document.querySelector("main[data-live]");
  const place = document.getElementById("live");
  if (!main || !place || !window.EventSource) return;
  const status = document.createElement("span");
  const hold = document.createElement("button");
  hold.type = "button";
  hold.className = "small";
  place.append(status, hold);
  const waiting = new Map();
  let source = null, held = false, away = 0;

  const show = (state, text) => { status.className = "live-state " + state; status.textContent = text; };

  // What has the focus, or a selection, is not taken away: it is replaced once that is over.
  const busy = (part) => part.contains(document.activeElement) && document.activeElement !== part
    || !document.getSelection().isCollapsed && part.contains(document.getSelection().anchorNode);

  const replace = (id, html) => {
    const part = document.getElementById(id);
    if (!part) return;
    if (busy(part)) { waiting.set(id, html); return; }
    waiting.delete(id);
    const scrolled = Array.from(part.querySelectorAll(".scroll"), (box) => box.scrollLeft);
    part.innerHTML = html;
    part.querySelectorAll(".scroll").forEach((box, at) => { box.scrollLeft = scrolled[at] || 0; });
  };

  const open = () => {
    source = new EventSource(main.dataset.live);
    source.addEventListener("open", () => { clearTimeout(away); show("on", "Live"); });
    source.addEventListener("part", (event) => {
      const part = JSON.parse(event.data);
      replace(part.id, part.html);
    });
    source.addEventListener("error", () => {
      // Replies end now and then, and the next one begins at once: that is nothing to tell.
      clearTimeout(away);
      if (source.readyState === EventSource.CLOSED) show("off", "Not live: reload the page");
      else away = setTimeout(() => show("off", "Connecting…"), 3000);
    });
  };

  const flip = () => {
    held = !held;
    hold.textContent = held ? "Go on" : "Hold";
    hold.setAttribute("aria-label", held ? "Let the page change again" : "Hold the page still");
    if (held) { clearTimeout(away); source.close(); show("off", "Held"); } else { open(); }
  };

  const catchUp = () => { for (const [id, html] of Array.from(waiting)) replace(id, html); };
  document.addEventListener("focusout", () => setTimeout(catchUp, 0));
  document.addEventListener("selectionchange", catchUp);
  hold.addEventListener("click", flip);
  show("off", "Connecting…");
  hold.textContent = "Hold";
  hold.setAttribute("aria-label", "Hold the page still");
  open();
})();

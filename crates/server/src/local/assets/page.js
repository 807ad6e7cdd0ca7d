// Keeps the page up to date, and moves by keys. The page is complete without this.
(() => {
  "use strict";
  const every = 2000;
  const sign = document.getElementById("live");
  const main = document.querySelector("main[data-part]");

  // Times as people say them; what they are exactly is on the element.
  const ago = () => {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const seconds = Math.max(0, (Date.now() - Date.parse(time.dateTime)) / 1000);
      if (Number.isNaN(seconds)) continue;
      const [n, unit] = seconds < 60 ? [seconds, "s"] : seconds < 3600 ? [seconds / 60, "min"]
        : seconds < 172800 ? [seconds / 3600, "h"] : [seconds / 86400, "days"];
      time.title = time.title || time.textContent;
      time.textContent = seconds < 5 ? "just now" : `${Math.floor(n)} ${unit} ago`;
    }
  };

  // What is open and where the focus is stays, part by part; parts that did not change are left alone.
  const bring = html => {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    for (const part of fresh.querySelectorAll("[data-part-id]")) {
      const old = main.querySelector(`[data-part-id="${part.dataset.partId}"]`);
      if (!old || old.dataset.hash === part.dataset.hash) continue;
      const open = new Set([...old.querySelectorAll("details[id]")].filter(d => d.open).map(d => d.id));
      for (const details of part.querySelectorAll("details[id]")) details.open = details.open || open.has(details.id);
      const focus = old.contains(document.activeElement) ? document.activeElement.id : "";
      part.classList.add("fresh");
      old.replaceWith(document.adoptNode(part));
      if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    }
    ago();
  };

  let busy = false;
  const look = async () => {
    if (busy || document.hidden) return;
    busy = true;
    try {
      const address = new URL(main.dataset.part, location.href);
      address.searchParams.set("since", main.dataset.version);
      const answer = await fetch(address, { headers: { accept: "text/html" }, cache: "no-store" });
      if (answer.status === 200) {
        main.dataset.version = answer.headers.get("x-throughline-version") || "";
        bring(await answer.text());
      }
      const fine = answer.status === 200 || answer.status === 204;
      sign.className = fine ? "live on" : "live off";
      sign.textContent = fine ? "live" : "open the address with the token again";
    } catch {
      sign.className = "live off";
      sign.textContent = "the server does not answer";
    } finally {
      busy = false;
    }
  };
  if (main && sign) {
    setInterval(look, every);
    document.addEventListener("visibilitychange", look);
    look();
  }
  ago();
  setInterval(ago, 10000);

  // j and k: the next and the previous thing on the page.
  const step = by => {
    const items = [...document.querySelectorAll("[data-item]")].filter(item => item.getClientRects().length);
    if (!items.length) return;
    const at = items.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by));
    items[next].focus();
    items[next].scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "h" && location.pathname !== "/") location.assign("/");
    else return;
    event.preventDefault();
  });
})();

// Keys for everything that the pointer does on the map.
import type { App } from "../app";
import { NO_FILTERS } from "../filters";
import { byId } from "./dom";

const STEP = 90; // pixels

export interface Keys {
  help: () => void;
  step: (by: number) => void; // to a finer or coarser level
  table: () => void; // opens or closes it
  columns: () => void; // opens or closes their rail
}

export function listenToKeys(app: App, { help, step, columns, table }: Keys): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
    const undo = event.key === "z" && (event.ctrlKey || event.metaKey) && !typing;
    if (undo) app.selecting.undo();
    if (undo || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return escape(app, target, typing);
    if (typing || byId<HTMLDialogElement>("help").open) return;
    const onMap = target === document.body || byId("maps").contains(target);
    if (event.key.startsWith("Arrow")) {
      if (!onMap) return;
      const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
      app.nudge(dx! * STEP, dy! * STEP, event.shiftKey);
    } else if (event.key === "+" || event.key === "=") app.zoom(1.6);
    else if (event.key === "-" || event.key === "_") app.zoom(1 / 1.6);
    else if (event.key === "0") app.goHome();
    else if (event.key === "[") step(-1);
    else if (event.key === "]") step(1);
    else if (event.key === "l") app.setTool(app.tool === "lasso" ? null : "lasso");
    else if (event.key === "b") app.setTool(app.tool === "box" ? null : "box");
    else if (event.key === "v") void app.takeView();
    else if (event.key === "s" && app.shared.store.now.filters.size) app.takeFiltered();
    else if (event.key === "i") app.selecting.invert();
    else if (event.key === "f" || event.key === "F") app.setLevel(null);
    else if (event.key === "c" || event.key === "C") columns();
    else if (event.key === "t" || event.key === "T") table();
    else if (event.key === "n" || event.key === "N") app.stepTour(1);
    else if (event.key === "p" || event.key === "P") app.stepTour(-1);
    else if (event.key === "/") byId<HTMLInputElement>("query").focus();
    else if (event.key === "?") help();
    else if (event.key === "Enter" && target === byId("maps")) app.openCentre();
    else return;
    event.preventDefault();
  });
}

function escape(app: App, target: HTMLElement, typing: boolean): void {
  const { store } = app.shared;
  if (typing) target.blur();
  if (app.tool) app.setTool(null);
  else if (store.now.hits.length || !byId("found").hidden) app.clearSearch();
  else if (store.now.row !== null) app.closeRow();
  else if (store.now.selection) app.selecting.clear();
  else if (store.now.cluster) app.openCluster(null);
  else if (store.now.filters.size) store.set({ filters: NO_FILTERS });
  else if (store.now.stop !== null) store.set({ stop: null });
}

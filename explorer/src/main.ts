// Starts the page: reads what there is, wires the parts, or says what is wrong.
import { Address, BROWSER } from "./address";
import { App } from "./app";
import { Cache } from "./cache";
import { openSets } from "./data/open_sets";
import { NO_FILTERS } from "./filters";
import { Stage } from "./gl/stage";
import { Input } from "./input";
import { readMeta, type Meta } from "./meta";
import { Following, FramePlace } from "./notebook/following";
import { Frame } from "./notebook/frame";
import type { Around } from "./notebook/protocol";
import { Streamlit } from "./notebook/streamlit";
import { Painter } from "./paint";
import { parseJson } from "./parse";
import { Renaming } from "./renaming";
import { RowFiles } from "./rows";
import { Search } from "./search";
import type { Shared } from "./shared";
import { openSource, readConfig, type Config } from "./source";
import { Store } from "./state";
import { TileFiles, type Tile } from "./tiles";
import { Tree } from "./tree";
import { el } from "./ui/dom";
import { Page } from "./ui/page";
import { startTheme } from "./ui/theme";

async function start(): Promise<void> {
  const config = readConfig((window as { NESTMAP?: unknown }).NESTMAP, window.innerWidth < 700);
  const around = openAround(config.around);
  const source = openSource(config);
  const asked = source.get("meta.json");
  const stage = new Stage();
  const meta = readMeta(parseJson(await asked));
  const cache = new Cache(source);
  const tiles = new TileFiles(meta, cache);
  const tree = new Tree(meta, cache, tiles);
  const store = new Store({
    level: null, focus: Math.max(tree.top, 0), color: firstColor(meta), size: null, time: null, filters: NO_FILTERS, cluster: null, row: null, neighbors: [],
    hits: [], selection: null, chosen: null, byCluster: false, how: "replace", hover: null, compare: false, table: null, theme: startTheme(), stop: null, tears: false,
  });
  const sets = openSets({ meta, config, source, cache, tiles, tree, store }, () => app.redraw(), (error) => app.told.failed(error));
  const shared: Shared = {
    meta, config, source, cache, tiles, tree, store, rows: new RowFiles(meta, cache), painter: new Painter(meta, tree, tiles, store, sets.marks), ...sets,
  };
  const app: App = new App(shared, new Search(meta, cache, config), stage);
  const page = new Page(app, new Renaming(app));
  const place = around ? new FramePlace(around) : null;
  const address = new Address(app, place ?? BROWSER);
  page.addMap(app.main);
  new Input(app.main, page.gestures);
  page.onSecond = (view) => new Input(view, page.gestures);
  app.main.onView = (settled) => {
    if (store.now.level === null) store.set({ focus: app.main.focus });
    page.moved(settled);
    address.follow();
  };
  cache.onArrival = (name) => page.arrived(name);
  cache.onFailure = (error) => app.told.failed(error);
  cache.onRelease = (value) => app.views.forEach((view) => view.ground.release(value as Tile));
  app.main.resize();
  if (!around && location.hash.length > 1) address.apply();
  page.start();
  void startTour(app);
  if (around && place) new Following(app, around, place, address);
  (window as { nestmap?: unknown }).nestmap = app; // for the console, and for tests
}

/** An address that names a stop and no view is that of the stop. */
async function startTour(app: App): Promise<void> {
  const bare = !/[#&]x=/.test(location.hash); // soon the address will hold the view
  await app.tour.load();
  const { stop } = app.shared.store.now;
  if (stop !== null && bare) app.goStop(stop);
  app.tourChanged();
}

/** What the page is a frame of, if it is one. */
function openAround(around: Config["around"]): Around | null {
  if (!around || window.parent === window) return null;
  return around === "notebook" ? new Frame(window.parent) : new Streamlit(window.parent);
}

/** Clusters tell most unless there is nothing but rows. */
function firstColor(meta: Meta): string {
  return meta.levels.length ? "level" : (meta.columns[0]?.key ?? "level");
}

function fail(error: unknown): void {
  const told = error instanceof Error ? error.message : String(error);
  document.body.replaceChildren(
    el("main", { class: "fatal" }, el("h1", {}, "The map cannot be shown"), el("p", {}, told),
      el("p", { class: "quiet" }, "If this is a copied folder, check that all of its files are there; else start `nestmap explore` again.")),
  );
}

start().catch(fail);

/* SPDX-License-Identifier: Apache-2.0 */
/* Clicks through the viewer's page of the digits network beside itself; view_test.sh
 * puts this behind the page's own script. What is wrong is in #result. */
(() => {
  const wrong = [];
  const check = (good, what) => { if (!good) wrong.push(what); };
  /* Without a screen there may be no frames. */
  const frames = () => { if (tab === "graph") drawGraph(); if (tab === "memory") drawMemory(); };
  const text = id => byId(id).textContent;
  const type = (id, value) => { byId(id).value = value; byId(id).dispatchEvent(new Event("input")); };
  const pick = (id, value) => { byId(id).value = value; byId(id).dispatchEvent(new Event("change")); };
  const painted = id => {
    const c = byId(id), pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    return pixels.some(v => v !== 0);
  };
  try {
    frames();
    check(text("details").includes("layers9"), "facts of the engine");
    check(text("details").includes("x: float32[1, 1, 8, 8]"), "its input");
    check(painted("graph"), "the graph is drawn");
    check(byId("colour").value === "time", "a profile is shown as colours");
    /* Search, and details of what was found. */
    type("find", "classifier.4");
    check(text("list").startsWith("1 found"), "search finds classifier.4");
    byId("list").querySelector(".row").click();
    check(byId("details").querySelector("h2").textContent === "classifier.4", "details of it");
    check(/gemm/.test(text("details")) && /float32\[1, 10\]/.test(text("details")), "its tactic and tensor");
    check(/of peak/.test(text("details")) && /GFLOP\/s/.test(text("details")), "its share of the peak");
    check(/aten::linear/.test(text("details")) && /linear\.py:\d+/.test(text("details")), "its line of source");
    byId("details").querySelector("a").click();
    check(byId("details").querySelector("h2").textContent.startsWith("classifier.1"), "a link to what it reads");
    type("find", "no such layer");
    check(text("list").startsWith("0 found"), "search finds nothing");
    type("find", "");
    /* A click into the canvas chooses the box that is there. */
    byId("fit").click();
    frames();
    const box = graph.boxes[2], frame = byId("graph").getBoundingClientRect();
    const where = { clientX: frame.left + frame.width / 2 + (box.x + 20 - view.x) * view.scale,
      clientY: frame.top + frame.height / 2 + (box.y + 10 - view.y) * view.scale, bubbles: true };
    byId("graph").dispatchEvent(new PointerEvent("pointerdown", where));
    byId("graph").dispatchEvent(new PointerEvent("pointerup", where));
    check(chosen && chosen.label === "features.6", "a click into the graph");
    /* Modules close and open. */
    byId("collapse").click();
    check(graph.boxes.length === 3, "two modules and what is in none");
    byId("list").querySelector(".row").click();
    check(graph.boxes.length > 3, "a module opens");
    byId("expand").click();
    check(graph.boxes.length === 9, "all are open");
    for (const mode of ["kind", "peak", "precision", "module", "time"]) {
      pick("colour", mode);
      check(text("legend").length > 0, `a legend of ${mode}`);
    }
    /* The table, sorted by time. */
    byId("tab-steps").click();
    check(byId("steps").querySelectorAll("tbody tr").length === 9, "nine rows");
    byId("steps").querySelectorAll("th")[1].click();
    const times = [...byId("steps").querySelectorAll("tbody tr td:nth-child(2)")].map(td => +td.textContent);
    check(times.every((t, i) => !i || t <= times[i - 1]) && times[0] > 0, "rows sorted by time");
    byId("steps").querySelector("tbody tr").click();
    check(chosen.step.ms === Math.max(...graph.nodes.map(n => n.step.ms)), "a row is chosen");
    /* Memory over time. */
    byId("tab-memory").click();
    frames();
    check(painted("memory"), "memory is drawn");
    const blocks = memoryBlocks(graph), plot = byId("memory").plot, b = blocks[1];
    check(blocks.length >= 7 && blocks.every(k => k.first <= k.last && k.from < k.to), "pieces of memory");
    const at = byId("memory").getBoundingClientRect();
    byId("memory").dispatchEvent(new MouseEvent("click", { clientX: at.left + plot.left + (b.first + .5) / plot.steps * plot.w,
      clientY: at.top + plot.top + plot.h - (b.from + b.to) / 2 / plot.size * plot.h }));
    check(chosen === graph.nodes[b.maker], "a click into memory");
    /* The network and the lowered graph, with the modules of the engine. */
    byId("tab-graph").click();
    pick("which", String(graphs.findIndex(g => g.name === "network")));
    check(graph.nodes.length > 9 && graph.nodes.some(n => n.kind === "convolution" && n.module === "features.0"), "the network");
    check(graph.nodes.some(n => n.to.length) && graph.nodes.every(n => n.id === 0 || n.kind === "constant" || n.from.length), "its edges");
    pick("which", String(graphs.findIndex(g => g.name === "lowered graph")));
    check(graph.nodes.some(n => n.kind === "aten::_convolution"), "the lowered graph");
    check(!graph.nodes.some(n => n.kind === "prim::Constant"), "without constants");
    /* Two engines. */
    byId("tab-compare").click();
    const rows = [...byId("compare").querySelectorAll("tbody tr")];
    check(rows.length === 9, "rows of the comparison");
    rows[0].click();
    check(byId("which").value === "0" && chosen, "a compared layer is chosen");
  } catch (e) {
    wrong.push(String(e && e.stack || e));
  }
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = wrong.length ? "WRONG: " + wrong.join("; ") : "ALL RIGHT";
  document.body.append(result);
})();

/* What the tests of the page's numbers run in the browser, with the page's own functions. */

window.pageTests = (() => {
  const isGiven = (node) => node.function === null && node.tapped_from === null;
  const nodesOf = (page, plan) => page.plans[plan].nodes.map((at) => page.nodes[at]);
  const textOf = (line) => line.map((part) => part.text ?? part).join("");

  /** The values that a plan begins with: what is given, and what the page can't compute or nothing reaches. */
  const startOf = (page, nodes) =>
    new Map(
      nodes.flatMap((node) => {
        const isKept = isGiven(node) || (node.function !== null && !attnPage.hasFunction(node));
        const value = node.value ?? (isKept ? page.values[node.name] : undefined);
        return value === undefined ? [] : [[node.name, attnPage.readValue(node.axes, value)]];
      }),
    );

  const everyIndex = (shape) =>
    shape.reduce((found, length) => found.flatMap((at) => Array.from({ length }, (_, next) => [...at, next])), [[]]);

  const plain = ({ values, fixed }) => ({
    values: Object.fromEntries([...values].map(([name, { shape, data }]) => [name, { shape, data: Array.from(data) }])),
    fixed: [...fixed],
  });

  /** The options of a node that follow one of some settings, with the numbers of these. */
  const patchOf = (node, settings) =>
    Object.fromEntries(
      Object.entries(node.settings)
        .filter(([, setting]) => setting in settings)
        .map(([option, setting]) => [option, settings[setting]]),
    );

  return {
    /** All values of some plans, computed from what is given: [{values: {name: {shape, data}}, fixed: [name]}]. */
    computed(page, plans) {
      return plans.map((plan) => {
        const nodes = nodesOf(page, plan);
        return plain(attnPage.evaluatePlan(nodes, startOf(page, nodes), []));
      });
    },

    /** All values after the numbers of some settings, and of some inputs at [place], were changed. */
    changed(page, settings, numbers) {
      const nodes = nodesOf(page, 0).map((node) => ({ ...node, options: { ...node.options, ...patchOf(node, settings) } }));
      const values = new Map(nodes.map((node) => [node.name, attnPage.readValue(node.axes, page.values[node.name])]));
      for (const [name, place, number] of numbers) values.get(name).data[place] = number;
      const patched = nodes.filter((node) => Object.keys(patchOf(node, settings)).length > 0);
      return plain(attnPage.evaluatePlan(nodes, values, [...patched.map(({ name }) => name), ...numbers.map(([name]) => name)]));
    },

    /** How many numbers count as changed, after everything was computed from the same numbers. */
    marks(page) {
      const nodes = nodesOf(page, 0);
      const values = new Map(nodes.map((node) => [node.name, attnPage.readValue(node.axes, page.values[node.name])]));
      const after = attnPage.evaluatePlan(nodes, values, nodes.map(({ name }) => name)).values;
      return [...after].flatMap(([name, value]) => (attnPage.changedCells(values.get(name), value).includes(1) ? [name] : []));
    },

    /** The lines of every so many cells of each step, what is wrong with their links, and the steps without lines. */
    arithmetic(page, every) {
      const nodes = nodesOf(page, 0);
      const values = new Map(nodes.map((node) => [node.name, attnPage.readValue(node.axes, page.values[node.name])]));
      const state = { page, nodes, values };
      const lines = new Set();
      const faults = [];
      const without = new Set();
      for (const node of nodes) {
        for (const index of everyIndex(values.get(node.name).shape).filter((_, at) => at % every === 0)) {
          const found = attnPage.arithmeticOf(node, index, state);
          if (found.length === 0 && !isGiven(node)) without.add(node.function);
          for (const line of found) {
            lines.add(textOf(line));
            for (const { text, step, index: place } of line.filter((part) => part.step !== undefined)) {
              const { shape, data } = values.get(step);
              const number = data[place.reduce((start, at, axis) => start * shape[axis] + at, 0)];
              const shown = Number(text.replaceAll("−", "-").replace("∞", "Infinity"));
              const isShown = Object.is(shown, number) || Math.abs(shown - number) <= 10 ** -page.decimals || Math.abs(shown / number - 1) < 1e-3;
              if (place.length !== shape.length || !isShown) faults.push([node.name, textOf(line), text, step, place]);
            }
          }
        }
      }
      return { lines: [...lines], faults, without: [...without] };
    },

    /** The cells that change though no cell that they are made from does: [step, index]. */
    cellsWithOtherSources(page, every) {
      const nodes = nodesOf(page, 0);
      const values = new Map(nodes.map((node) => [node.name, attnPage.readValue(node.axes, page.values[node.name])]));
      const state = { page, nodes, values };
      const found = [];
      for (const node of nodes.filter((one) => !isGiven(one))) {
        const outer = nodes.find(({ name }) => name === (node.tapped_from ?? node.name));
        if (!attnPage.hasFunction(outer)) continue;
        const own = nodes.filter((one) => one === outer || one.tapped_from === outer.name);
        const before = attnPage.evaluatePlan(own, values, [outer.name]).values.get(node.name);
        const cells = everyIndex(before.shape);
        for (const index of cells.filter((_, at) => at % every === 0)) {
          const sources = allSources(node, index, state, own);
          const changed = new Map(values);
          for (const name of new Set(Object.values(outer.inputs))) {
            const places = sources.filter(({ step }) => step === name).map((source) => source.index);
            if (places.length > 0) changed.set(name, otherwise(values.get(name), places));
          }
          const after = attnPage.evaluatePlan(own, changed, [outer.name]).values.get(node.name);
          const at = index.reduce((start, position, axis) => start * after.shape[axis] + position, 0);
          if (!Object.is(after.data[at], before.data[at])) found.push([node.name, index, sources]);
        }
      }
      return found;
    },
  };

  /** The cells that a cell is made from, with those that inner quantities of the same step are made from. */
  function allSources(node, index, state, own, seen = new Set()) {
    const sources = attnPage.sourcesOf(node, index, state);
    const further = sources.flatMap(({ step, index: place }) => {
      const inner = own.find(({ name }) => name === step);
      if (inner === undefined) return [];
      const { shape } = state.values.get(step);
      const cells = everyIndex(shape).filter((at) => at.every((position, axis) => [null, position].includes(place[axis])));
      const added = cells.filter((at) => !seen.has(`${step} ${at}`));
      for (const at of added) seen.add(`${step} ${at}`);
      return added.flatMap((at) => allSources(inner, at, state, own, seen));
    });
    return [...sources, ...further];
  }

  /** A value whose numbers are others except at some places. */
  function otherwise({ axes, shape, data }, places) {
    const other = data.map((x) => (Number.isFinite(x) ? x : 0) + 1);
    for (const place of places) {
      const indices = place.reduce(
        (before, position, axis) =>
          before.flatMap((start) =>
            (position === null ? Array.from({ length: shape[axis] }, (_, at) => at) : [position]).map((at) => start * shape[axis] + at),
          ),
        [0],
      );
      for (const at of indices) other[at] = data[at];
    }
    return { axes, shape, data: other };
  }
})();

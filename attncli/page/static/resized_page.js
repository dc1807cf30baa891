/* A page of other lengths: the shapes of its nodes, and the texts that name them. */

/** The nodes with other shapes; `resize` gives them from the letters of axes and the lengths that these had. */
export function resizedNodes(nodes, resize) {
  return nodes.map((node) => {
    const shape = resize(node.axes, node.shape);
    const isSame = shape.join() === node.shape.join();
    return { ...node, shape, value: isSame ? node.value : null, shapes: shapesText(node.shapes, resize) };
  });
}

/** The text of shapes, `[n m] 3 × 3`, with other lengths. */
function shapesText(text, resize) {
  return text.replace(/\[([^\]]*)\] ([\d,]+(?: × [\d,]+)*)/g, (_, letters, lengths) => {
    const sizes = resize(letters.split(" "), lengths.split(" × ").map((length) => Number(length.replaceAll(",", ""))));
    return `[${letters}] ${sizes.map((size) => size.toLocaleString("en")).join(" × ")}`;
  });
}

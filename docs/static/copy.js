// Give each block of commands a button that copies them, without prompts.
for (const block of document.querySelectorAll("div.highlight-console, div.highlight-python, div.highlight-yaml")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("pre").textContent.replace(/^\$ /gm, "").trimEnd());
    button.textContent = "Copied";
  });
  block.append(button);
}

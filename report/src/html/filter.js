const field = document.getElementById("filter");
if (field) {
  field.hidden = false;
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const card of document.querySelectorAll("section")) {
      card.hidden = !card.textContent.toLowerCase().includes(wanted);
    }
  });
}

// What the model of these tests answers to which question.

const one = (name, argument, say) => [{ call: [[name, argument]] }, { say: say ?? ((last) => `The tool said: ${last.slice(0, 300)}`) }];

export const scenes = {
  "Tell me about tea": [{ think: "Tea is a drink.", say: "Tea is *made* of leaves, and there is **green** and **black** tea. It is drunk hot." , hold: true }],
  "Show me everything in markdown": [{ say: "# Tea\n\nA list:\n\n1. green\n2. black\n   - with *milk*\n\n| Kind | Minutes |\n| --- | ---: |\n| green | 2 |\n| black | 4 |\n\n> Quoted.\n\n```js\nconst tea = \"<b>hot</b>\";\n```\n\n<img src=x onerror=alert(1)> and [a link](https://tea.example/) and [another](javascript:alert(1))." }],
  "How warm is the kitchen": one("playground__climate", { place: "the kitchen" }, "It is **21.5 degrees** in the kitchen."),
  "Note twice": [{ call: [["playground__note", { path: "notes/tea.txt", text: "one" }]] }, { call: [["playground__note", { path: "notes/tea.txt", text: "two" }]] }, { say: "Both are noted." }],
  "Note something": one("playground__note", { path: "notes/tea.txt", text: "Buy tea.\u202e" }, "It is noted."),
  "Note a long text": one("playground__note", { path: "notes/long.txt", text: "All work and no play. ".repeat(200) }, "It is noted."),
  "Use the reworded tool": one("playground__reworded", {}, "It said what it always says."),
  "Stir slowly": one("playground__slow", {}, "I stopped stirring."),
  "Stir, then think": [{ call: [["playground__slow", {}]] }, { say: "I stopped the stirring.", hold: true }],
  "How do I take my tea": one("playground__survey", {}),
  "Pay for the tea": one("playground__pay", {}),
  "Show me a picture": one("playground__picture", {}, "Here is a square."),
  "Read me something long": one("playground__long", {}, "It is all work and no play."),
  "Break the kettle": one("playground__broken", {}, "The kettle is broken."),
  "Compare the rooms": [
    { think: "Two rooms: I ask both servers.", call: [["playground__climate", { place: "the kitchen" }], ["station__get_climate", {}]] },
    { say: "The kitchen is at **21.5 °C**, the station says the rest:\n\n| Room | °C |\n| --- | ---: |\n| Kitchen | 21.5 |\n| Station | 21 |" },
  ],
  "What is attached": [{ say: (_, messages) => `I got: ${JSON.stringify(messages.findLast((message) => message.role === "user").content).slice(0, 1500)}` }],
};

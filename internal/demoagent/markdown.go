package demoagent

// sample has every kind of markdown, and text that must not become markup.
const sample = "# Markdown\n\n" +
	"A paragraph with *emphasis*, **weight**, ~~regret~~, `code` and a [link](https://example.invalid/).\n\n" +
	"## Lists\n\n1. first\n2. second\n   - nested\n   - twice\n\n- [x] done\n- [ ] to do\n\n" +
	"## Code\n\n```go\npackage main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"<b>not bold</b>\")\n}\n```\n\n" +
	"```diff\n- old\n+ new\n```\n\n" +
	"## Table\n\n| left | centre | right |\n| :--- | :---: | ---: |\n| a | b | 1 |\n| longer cell | `x` | 22 |\n\n" +
	"> A quotation,\n> of two lines.\n\n---\n\n" +
	"Raw HTML stays text: <script>alert('no')</script> <img src=x onerror=alert(1)>\n\n" +
	"![a remote image](https://example.invalid/pixel.png)\n\n" +
	"Emoji 🎉, right to left: שלום, and a very long word: " +
	"Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft.\n"

func (t *turn) markdown(string) error { return t.say(sample) }

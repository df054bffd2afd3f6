/**
 * Builds marked as what is used of it: its lexer and its parser, without the function around them, and each rule made
 * when it is first asked for. As it comes the library makes all rules as it is loaded, those of dialects nobody reads
 * too; what Unicode classes cost in them was most of what a session waited for the parser.
 * @returns {import('vite').Plugin}
 */
export function plainMarked() {
  return {
    name: 'abide-plain-marked',
    enforce: 'pre',
    transform(code, id) {
      if (!/\/marked\/lib\/marked\.esm\.js$/.test(id.split('?')[0])) return null
      return { code: `${withLateRules(withoutRest(withoutFront(code)))}\n${lateRule}`, map: null }
    },
  }
}

const used = ['Lexer', 'Parser', 'Renderer', 'Tokenizer', 'getDefaults']

/** @param {string} code */
function withoutFront(code) {
  const front = /var (\w+)=new \w+;function \w+\((\w+),(\w+)\)\{return \1\.parse\(\2,\3\)\}/.exec(code)
  const exports = /export\{([^}]*)\};/.exec(code)
  if (!front || !exports) throw new Error('marked ends in another way now')
  const kept = exports[1].split(',').filter((name) => used.includes(name.replace(/.* as /, '')))
  if (kept.length !== used.length) throw new Error(`of marked there is only ${kept.join(', ')}`)
  return `${code.slice(0, front.index)}export{${kept.join(',')}};`
}

/**
 * Without the dialects and the extensions nobody reads, and without HTML as markup: what an agent writes is none
 * (`src/markdown/bounds.ts`). What makes a rule is named pure, so that the bundler leaves out a rule nobody names.
 * @param {string} code
 */
function withoutRest(code) {
  const edits = [
    [/this\.options\.(?:pedantic|breaks)\b/g, 'false'],
    [/this\.options\.gfm\b/g, 'true'],
    [/this\.options\.extensions\b/g, 'null'],
    [/\{normal:(\w+),gfm:(\w+)(?:,breaks:\w+)?,pedantic:\w+\}/g, '{normal:$1,gfm:$2}'],
    [/,html:\w+(?=,lheading:)/g, ''],
    [/html\(e\)\{let t=this\.rules\.block\.html\.[^]*?\}(?=def\(e\)\{)/g, ''],
    [/tag\(e\)\{if\([^]*?this\.rules\.inline\.tag\.[^]*?\}(?=link\(e\)\{)/g, ''],
    [
      /(?:outputLinkReplace|listReplaceNesting|\w+(?:ATag|PreScriptTag)|pedanticHrefTitle|spaceLine):\/(?:\\.|[^\\/])+\/\w*,/g,
      '',
    ],
    [/pedanticHeadingBeginRegex:D\(.*?`\)\),/g, ''],
    [/(?<=[=:,])(?=(?:g|Ce)\()/g, '/*@__PURE__*/'],
  ]
  return edits.reduce((before, [from, to]) => {
    const after = before.replace(from, to)
    if (after === before) throw new Error(`marked has no ${from} any more`)
    return after
  }, code)
}

/** @param {string} code */
function withLateRules(code) {
  const late = code.replace(/getRegex:\(\)=>new RegExp\((\w+),(\w+)\)/, 'getRegex:()=>abideLateRule($1,$2)')
  if (late === code) throw new Error('marked makes its rules in another way now')
  return late
}

/** What the library does with a rule; used in any other way it says so. */
const lateRule = `
function abideLateRule(source, flags) {
  let rule
  const late = () => (rule ??= new RegExp(source, flags))
  return {
    source,
    get lastIndex() {
      return late().lastIndex
    },
    set lastIndex(at) {
      late().lastIndex = at
    },
    exec: (text) => late().exec(text),
    test: (text) => late().test(text),
    [Symbol.replace]: (text, by) => text.replace(late(), by),
    [Symbol.matchAll]: (text) => text.matchAll(late()),
    toString() {
      throw new TypeError('a rule of markdown is used in a new way')
    },
  }
}
`

/**
 * Writes the files of the session screen into a meta element of index.html. first.js
 * preloads them from there, before the app itself is loaded.
 * @returns {import('vite').Plugin}
 */
export function sessionAhead() {
  const wanted = ['ui/session/Session.svelte']
  return {
    name: 'abide-session-ahead',
    enforce: 'post',
    apply: 'build',
    generateBundle(_, bundle) {
      const page = bundle['index.html']
      const chunks = Object.values(bundle).filter((c) => c.type === 'chunk')
      const files = new Set()
      const take = (chunk) => {
        if (files.has(chunk.fileName)) return
        files.add(chunk.fileName)
        for (const css of chunk.viteMetadata?.importedCss ?? []) files.add(css)
        for (const next of chunk.imports) take(bundle[next])
      }
      for (const part of wanted) {
        const chunk = chunks.find((c) => c.facadeModuleId?.endsWith(part))
        if (!chunk) throw new Error(`${part} is not a chunk of its own any more`)
        take(chunk)
      }
      const source = String(page.source)
      const names = [...files].filter((file) => !source.includes(file)).map((file) => `/${file}`)
      const mark = '<meta name="abide-session" content="" />'
      if (!source.includes(mark)) throw new Error(`index.html has no ${mark}`)
      page.source = source.replace(mark, mark.replace('""', `"${names.join(' ')}"`))
    },
  }
}

// The code that shows an agent's text, in one chunk: the parser, the sanitiser and the
// highlighter's front.
export { highlight } from './highlight'
export { Renderer } from './render'

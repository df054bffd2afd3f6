// What shows an agent's words, in one piece: the parser, the sanitiser and the highlighter's front.
export { highlight } from './highlight'
export { Renderer } from './render'

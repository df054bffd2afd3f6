export { Renderer } from '../../src/markdown/render'
export { sanitise } from '../../src/markdown/sanitise'

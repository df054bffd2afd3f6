// The requests to the hub that only a few screens make: loaded together with the first of them.
export { filesAPI } from './files'
export { reviews } from './reviews'

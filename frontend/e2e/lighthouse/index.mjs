// The only import of Lighthouse, so that its dependencies are resolved from this folder.
export { default } from 'lighthouse'

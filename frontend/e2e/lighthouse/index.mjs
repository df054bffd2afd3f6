// The one door to Lighthouse: what it depends on is resolved from here.
export { default } from 'lighthouse'

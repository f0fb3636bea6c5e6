export * from './cloud.js'

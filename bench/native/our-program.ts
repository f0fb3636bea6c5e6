// Started by run.ts with the name of a work. Prints the time of one operation, and what came out.
import { medians } from '../harness.js'
import { ours } from '../ours.js'

const work = process.argv[2] ?? ''
const make = Object.entries(ours).find(([name]) => name === work)?.[1]
if (make === undefined) throw new Error(`no such work: ${work}`)
const side = make()
console.log(JSON.stringify({ ns: medians([side])[0]!, answer: side.answer() }))

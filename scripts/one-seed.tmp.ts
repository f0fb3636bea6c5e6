(globalThis as any).DBG = process.argv[5]
import { systems } from './simulate-systems.js'
const [first, count, show] = process.argv.slice(2).map(Number)
const tally = new Map<string, number[]>()
for (let seed = first!; seed < first! + count!; seed++) {
  const r = await systems['floating-ips']!.run(seed, undefined)
  if (show) console.log(r.schedule.slice(-show).join('\n'))
  for (const p of r.problems) { const k = p.replace(/[0-9a-f-]{36}/g,'U').replace(/203[.\d]+/g,'A').replace(/claim-\d/g,'C').replace(/team-./g,'T').slice(0,110); tally.set(k, [...(tally.get(k) ?? []), seed]) }
}
for (const [k, v] of tally) console.log(v.length, k, v.slice(0, 8).join(','))

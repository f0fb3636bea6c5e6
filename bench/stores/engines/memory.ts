import { memoryStore } from 'ipam-kit/store/memory'
import { type Bench, KIND, storeCalls } from '../calls.js'

export async function overMemory(): Promise<Bench> {
  const store = memoryStore({ now: Date.now, kinds: [KIND] })
  return { versions: 'memory', ours: storeCalls(store), raw: undefined, close: async () => {} }
}

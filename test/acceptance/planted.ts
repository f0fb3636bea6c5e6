// Adapters that go wrong in every way there is, for the tests of the runner.
import { type Adapter, type Answer, answered, answerKeys, isRecord, unsupported } from './answer.js'

const tricks: Readonly<Record<string, (value: unknown) => Answer | Promise<Answer>>> = {
  answer: (value) => answered(value),
  'not know': () => unsupported('a word'),
  'know another part': () => ({ kind: 'notBuilt', built: 'one part' }),
  throw: () => {
    throw new Error('planted')
  },
  reject: () => Promise.reject(new Error('planted rejection')),
  'answer no data': () => answered(() => 'a function'),
  'never answer': () => new Promise(() => {}),
  'never return': () => {
    for (;;);
  },
  'end the process': () => process.exit(3),
  'crash while waiting': () => {
    setTimeout(() => {
      throw new Error('planted crash')
    })
    return new Promise(() => {})
  },
}

/** Does what the input says. */
const planted: Adapter = ({ input, expect, fields }) => {
  if (!isRecord(input)) return unsupported('input that is not an object')
  if (input.do === 'tell what it was given') return answered({ fields })
  const trick = tricks[String(input.do)]
  return trick === undefined ? answerKeys(expect, { known: (asked) => asked }) : trick(input.value)
}

export const adapters: Readonly<Record<string, Adapter>> = { planted }

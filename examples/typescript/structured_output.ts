import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8321/v1", apiKey: "none" });

const Tide = z.object({ place: z.string(), time: z.string() });

// A real model needs only the first line. The scripted model demo writes the JSON of the second one.
const text = 'High water in Dover is at 14:05.\nanswer {"place": "Dover", "time": "14:05"}';
const response = await client.responses.parse({
  model: "demo",
  input: text,
  text: { format: zodTextFormat(Tide, "tide") },
});
console.log(response.output_parsed);
